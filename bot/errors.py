"""Every error this package raises, grouped by who can act on it.

KaiError
├── ConfigError          the operator: fix .env and restart
├── StoreError           the operator: the database is from a newer version, locked or damaged
├── LLMError             the provider
│   ├── LLMUnavailable   … wait and try again; `retry_after` says how long
│   ├── LLMRejected      … never retry: bad key, bad model, no credit
│   └── LLMMalformed     … the reply broke the provider's own format
└── ToolError            the model: it is told the code and the text, and carries on

A tool call that waits for a person is not an error; see `bot.agent.Paused`.
"""


class KaiError(Exception):
    """Base class; catch it only at the outermost face."""


class ConfigError(KaiError):
    """Settings are missing or cannot be read.

    Attributes:
        problems: One sentence a mistake, each naming the setting to fix; never a secret's value.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class StoreError(KaiError):
    """What is kept could not be opened."""


class LLMError(KaiError):
    """The model could not be asked, or its answer could not be used. Nothing was appended."""


class LLMUnavailable(LLMError):
    """The provider is overloaded, rate limiting, or out of reach; the same request may succeed later.

    Attributes:
        retry_after: Seconds the provider asked us to wait, or None if it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LLMRejected(LLMError):
    """The provider refused the request; the same request will fail again.

    Attributes:
        reason: `auth`, `quota`, `model`, `too_long`, `refused` or `bad_request`.
    """

    def __init__(self, message: str, *, reason: str = "bad_request") -> None:
        super().__init__(message)
        self.reason = reason


class LLMMalformed(LLMError):
    """The reply broke the provider's own format or the stream ended in the middle."""


class ToolError(KaiError):
    """A tool could not do what was asked; the model reads the message.

    Attributes:
        code: ASCII, at most 32 characters, one of requirement F1's.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
