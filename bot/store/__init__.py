"""What is kept: `base` holds the promises, each module or package beside it one backend."""
