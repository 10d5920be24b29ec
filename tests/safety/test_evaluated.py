"""Facts on risk, §4.8: text that bash evaluates late. Bash itself says which lines run what they hold."""

import os
import subprocess
from pathlib import Path

import pytest

from bot.safety import Risk, classify

LINES = r"""
RANDOM='a[$(touch P)]'
OPTIND='a[$(touch P)]'
HISTCMD='a[$(touch P)]'
OPTIND+='a[$(touch P)]'
export OPTIND='a[$(touch P)]'
declare HISTCMD='a[$(touch P)]'
for RANDOM in 'a[$(touch P)]'; do :; done
read RANDOM <<< 'a[$(touch P)]'
: ${RANDOM:='a[$(touch P)]'}
true & wait -n -p 'a[$(touch P)]'
true & wait -fp 'a[$(touch P)]' $!
jobs -x touch P
getopts x 'a[$(touch P)]' -x
read 'a[$(touch P)]' <<< x
read -a 'a[$(touch P)]' <<< x
printf -v 'a[$(touch P)]' x
unset 'a[$(touch P)]'
a=(1); unset 'a[$(touch P)]'
test -v 'a[$(touch P)]'
[ -v 'a[$(touch P)]' ]
[[ -v 'a[$(touch P)]' ]]
[[ 'a[$(touch P)]' -eq 0 ]]
x='a[$(touch P)]'; [[ $x -gt 1 ]]
x='a[$(touch P)]'; (( x ))
x='a[$(touch P)]'; echo $(( x + 1 ))
x='a[$(touch P)]'; echo $[ x + 1 ]
x='a[$(touch P)]'; y=abc; echo ${y:x}
x='a[$(touch P)]'; y=abc; echo ${y:0:x}
x='a[$(touch P)]'; b=(1); echo ${b[x]}
x='a[$(touch P)]'; b[x]=1
x='b[$(touch P)]'; b=(1); echo ${!x}
x='a[$(touch P)]'; for ((i=x;i<1;i++)); do :; done
x='a[$(touch P)]'; let x
x='a[$(touch P)]'; let y=x
declare -i y='a[$(touch P)]'
declare 'a[$(touch P)]=1'
declare -a 'a[$(touch P)]=1'
export 'a[$(touch P)]=1'
typeset -i y; y='a[$(touch P)]'
f() { local -i y='a[$(touch P)]'; }; f
declare -n r='a[$(touch P)]'; echo $r
declare -n r='a[$(touch P)]'; r=1
x='$(touch P)'; echo ${x@P}
PS4='$(touch P)'; set -x; ls
PS4='$(touch P)' bash -xc ls
echo ${x:?$(touch P)}
echo ${x+a}${y:=$(touch P)}
echo ${x/a/$(touch P)}
echo ${x^$(touch P)}
x=5; echo ${x#$(touch P)}
echo "${x[$(touch P)]}"
trap 'touch P' EXIT
trap 'touch P' DEBUG; :
fc -s
compgen -C 'touch P' x
compgen -W '$(touch P)' x
mapfile -c 1 -C 'touch P;:' x <<< a
eval touch P
exec touch P
coproc touch P
. <(echo touch P)
cat <<< `touch P`
[[ x =~ $(touch P) ]]
case x in $(touch P)) ;; esac
x() ( touch P ); x
ls() { touch P; }; ls
command() { touch P; }; command ls
BASH_ENV=<(echo touch P) bash -c :
env 'BASH_FUNC_ls%%=() { touch P; }' bash -c ls
x=to; y=uch; $x$y P
a=(touch P); "${a[@]}"
set -- touch P; "$@"
""".strip().splitlines()


def runs(line: str, folder: Path) -> bool:
    """Whether bash, given this line, runs the command that stands in it as text."""
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", line],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    return (folder / "P").exists()


def test_what_bash_runs_out_of_text_is_high(tmp_path: Path) -> None:
    passed, ran = [], 0
    for number, line in enumerate(LINES):
        folder = tmp_path / str(number)
        folder.mkdir()
        if runs(line, folder):
            ran += 1
            if classify(line.replace("touch P", "rm -rf P")).risk is not Risk.HIGH:
                passed.append(line)

    assert passed == []
    assert ran > len(LINES) * 0.85


@pytest.mark.parametrize(
    "line",
    ["OPTIND=1", "RANDOM=42; echo $RANDOM", "SECONDS=0; sleep 1; echo $SECONDS", "wait -n", "jobs -l"],
)
def test_the_same_builtins_with_plain_numbers_are_not(line: str) -> None:
    assert classify(line).risk is Risk.LOW
