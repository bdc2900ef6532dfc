#!/bin/sh
# Ends with 0 if a Rust that builds nandlab is there. Otherwise prints the line that installs one on this system, and ends
# with 1. The argument is the oldest version that will do, as in `sh release/rust.sh 1.86`.
oldest=$1

# Whether a version, as in 1.86.0, is at least the oldest one.
is_enough() {
    major=${1%%.*}
    rest=${1#*.}
    minor=${rest%%.*}
    case $major$minor in '' | *[!0-9]*) return 1 ;; esac
    [ "$major" -gt "${oldest%%.*}" ] || { [ "$major" -eq "${oldest%%.*}" ] && [ "$minor" -ge "${oldest#*.}" ]; }
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# The version of cargo that apt or dnf would install; the letters and the epoch of a package are cut off.
of_apt() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9][0-9.]*\).*/\2/p'
}
of_dnf() {
    dnf --quiet info cargo 2>/dev/null | sed -n 's/^Version *: *\([0-9][0-9.]*\).*/\1/p' | tail -n 1
}

if has cargo && has rustc; then
    version=$(rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9][0-9.]*\).*/\1/p')
    is_enough "$version" && exit 0
    found="this system has Rust ${version:-of an unknown version}"
else
    found='cargo is not found'
fi

sudo='sudo '
[ "$(id -u)" = 0 ] && sudo=
# A Rust from rustup is brought up to date by rustup, whoever installed that.
if has rustup; then
    line='rustup update stable && rustup default stable'
elif has apt-get && is_enough "$(of_apt cargo)"; then
    line="${sudo}apt install cargo"
elif has apt-get && [ -n "$(of_apt rustup)" ]; then
    line="${sudo}apt install rustup && rustup default stable"
elif has dnf && is_enough "$(of_dnf)"; then
    line="${sudo}dnf install cargo"
elif has brew; then
    line='brew install rust'
else
    line="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\""
fi
echo "nandlab is built with Rust $oldest or newer, and $found; this installs it:" >&2
echo "$line" >&2
exit 1
