#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What packages say of the library is true: one version everywhere; Debian's symbols file has what the shared library
# exports, which is what the headers declare; the notes of dlopen name the libraries that are opened; the digests of its tests
# are this build's. scripts/release: the recipes are filled in with the version, the address and the checksums of an archive that has the tree, and are read by their tools; a
# recipe with an unknown word is refused. Nothing is downloaded or compiled.
set -uo pipefail
cd "$TALLY_SOURCE" || exit 1
debian=packaging/debian
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "FAILED: $*"
    failed=1
}
same() { diff -u --label "$1" --label "$3" "$2" "$4" || fail "$1 and $3 differ"; }

recipes() {
    local answer archive sum
    answer=$(DIST=$work/dist URL=https://example.org/a.tar.gz scripts/release recipes 2>&1) || fail "recipes: $answer"
    archive=$work/dist/source/tally-$version.tar.gz
    tar tzf "$archive" >"$work/list" || fail "the archive"
    for file in CMakeLists.txt include/tally.h src/law/spec.c python/CMakeLists.txt README.md LICENSE; do
        grep -qxF "tally-$version/$file" "$work/list" || fail "the archive has no $file"
    done
    sum=$(sha256sum "$archive" | cut -d' ' -f1)
    for recipe in conda/recipe.yaml spack/package.py nix/default.nix; do
        grep -qF "$sum" "$work/dist/recipes/$recipe" || fail "$recipe has another checksum"
    done
    grep -qF "$(sha512sum "$archive" | cut -d' ' -f1)" "$work/dist/recipes/vcpkg/portfile.cmake" || fail "vcpkg has another checksum"
    for recipe in conda/recipe.yaml spack/package.py nix/default.nix vcpkg/vcpkg.json; do
        grep -qF "\"$version\"" "$work/dist/recipes/$recipe" || fail "$recipe has another version"
    done
    for recipe in conda/recipe.yaml spack/package.py nix/default.nix vcpkg/portfile.cmake; do
        grep -qF 'https://example.org/a.tar.gz' "$work/dist/recipes/$recipe" || fail "$recipe has another address"
        grep -oE 'TALLY_[A-Z_]+|BUILD_TESTING' "$work/dist/recipes/$recipe" # the options exist
    done | sort -u >"$work/options"
    while read -r option; do
        [ "$option" = BUILD_TESTING ] || grep -rqE "(option|set)\($option " CMakeLists.txt cmake || fail "there is no option $option"
    done <"$work/options"
    [ "$(wc -l <"$work/options")" -ge 3 ] || fail "the options: $(xargs <"$work/options")"
    [[ $answer == *"By hand"*"twine upload"* ]] || fail "what is left to do: $answer"

    # an unknown word, an unknown part
    mkdir "$work/copy"
    cp -r scripts packaging include "$work/copy"
    (cd "$work/copy" && git init -q && git add -A && git -c user.name=t -c user.email=t@example.org commit -qm t)
    echo '# @SHA1@' >>"$work/copy/packaging/nix/default.nix"
    answer=$("$work/copy/scripts/release" recipes 2>&1) && fail "an unknown word is not seen"
    [[ $answer == *"packaging/nix/default.nix has a word that is not filled in"* ]] || fail "an unknown word: $answer"
    answer=$(DIST=$work/dist scripts/release flatpak 2>&1) && fail "an unknown part is taken"
    [[ $answer == *"there is no part 'flatpak'"* ]] || fail "an unknown part: $answer"
}

# ---- the version, which tally.h says ----
version=$(awk '/^#define TALLY_VERSION_/ { text = text dot $3; dot = "." } END { print text }' include/tally.h)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "tally.h says the version '$version'"
[[ $("$TALLY_CLI" --version) == "tally $version "* ]] || fail "tally --version is not $version"
head -n 1 $debian/changelog | grep -qF "tally ($version-" || fail "$debian/changelog does not begin with $version"
[ "$(sed -nE 's/^## \[([0-9.]+)\] - 20.*/\1/p' CHANGELOG.md | head -n 1)" = "$version" ] || fail "CHANGELOG.md does not begin with $version"
grep -qxF "version: $version" CITATION.cff || fail "CITATION.cff is not of $version"
grep -vE '^### (Added|Changed|Deprecated|Removed|Fixed|Security)$|^## \[([0-9.]+\] - 20[0-9-]+|Unreleased\])$|^# Changelog$' CHANGELOG.md |
    { ! grep '^#'; } || fail "CHANGELOG.md has headings that Keep a Changelog has not"
grep -qF "find_package(tally ${version%.*} " test/consumer/CMakeLists.txt || fail "test/consumer asks for another version"

# ---- what a reporter is asked for, and what is run for every change ----
for word in 'tally doctor' 'tally devices' '--digest'; do
    grep -qe "\`.*$word.*\`" .github/ISSUE_TEMPLATE/wrong-result.yml || fail "the form of reports does not ask for $word"
done
grep -q 'run: scripts/test$' .github/workflows/test.yml || fail "the workflow does not run scripts/test"
if command -v python3 >/dev/null && python3 -c 'import yaml' 2>/dev/null; then
    python3 -c 'import sys, yaml
for path in sys.argv[1:]: yaml.safe_load(open(path))' .github/ISSUE_TEMPLATE/*.yml .github/workflows/*.yml CITATION.cff ||
        fail "a file is no YAML"
fi

# ---- the symbols: of the headers, of the shared library, of Debian ----
symbols=$debian/libtally0.symbols
list=test/symbols.txt
library=$TALLY_BUILD/libtally.so
head -n 1 $symbols | grep -qxF 'libtally.so.0 libtally0 #MINVER#' || fail "$symbols is of another library"
grep -vE '^(#|$)' $list | LC_ALL=C sort >"$work/listed"
sed -nE 's/^ (tally_[a-z0-9_]+)@TALLY_0 [0-9]+\.[0-9]+\.[0-9]+$/\1/p' $symbols | LC_ALL=C sort >"$work/debian"
same $list "$work/listed" $symbols "$work/debian"
[ "$(grep -c . $symbols)" -eq $(($(wc -l <"$work/debian") + 3)) ] || fail "$symbols has lines of another form"
# every declaration that begins with TALLY_API: its name is the word before the first parenthesis
sed -nE 's/^TALLY_API .*[ *](tally_[a-z0-9_]+)\(.*/\1/p' include/tally{,_gpu,_keys,_stream,_file,_arrow,_digits}.h | LC_ALL=C sort >"$work/declared"
same $list "$work/listed" "the headers" "$work/declared"
if [ -z "${TALLY_SANITIZE-}" ] && [ -e "$library" ] && command -v nm >/dev/null; then
    # every symbol has the version that packaging/tally.map gives it, and only so does it count
    nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@TALLY_0$/, "", $3); print $3 }' | LC_ALL=C sort >"$work/exported"
    grep '@' "$work/exported" && fail "a version other than TALLY_0"
    nm -D --defined-only "$library" | awk '$2 == "T" && $3 !~ /@@TALLY_0$/ { print $3 }' | grep . && fail "symbols without a version"
    same $list "$work/listed" "$library" "$work/exported"
fi

# ---- the notes ----
notes_of() { # notes_of FILE: the sonames in its notes
    readelf -p .note.dlopen "$1" 2>/dev/null | grep -oE '"soname":\[[^]]*\]' | grep -oE 'lib[A-Za-z]+\.so\.[0-9.]+' | LC_ALL=C sort
}
if [ -z "${TALLY_SANITIZE-}" ] && [ -e "$library" ] && command -v readelf >/dev/null; then
    printf '%s\n' libcuda.so.1 libOpenCL.so.1 libnvrtc.so.{11.2,12,13} libnetcdf.so.{15,18,19,22} libz.so.1 libzstd.so.1 | LC_ALL=C sort >"$work/opened"
    notes_of "$library" >"$work/notes"
    same "the libraries that are opened" "$work/opened" "the notes of libtally.so" "$work/notes"
    notes_of "$TALLY_CLI" >"$work/notes"
    same "the libraries that are opened" "$work/opened" "the notes of the program" "$work/notes"
    if command -v python3 >/dev/null && command -v objcopy >/dev/null; then
        objcopy -O binary --only-section=.note.dlopen "$library" "$work/section"
        python3 - "$work/section" <<'END' || fail "the notes are not of the form that readers expect"
import json, struct, sys
data, at, features = open(sys.argv[1], "rb").read(), 0, []
while at < len(data):
    owner, size, kind = struct.unpack_from("<III", data, at)
    text = data[at + 16 : at + 16 + size]
    assert (owner, kind, data[at + 12 : at + 16]) == (4, 0x407C0C0A, b"FDO\0") and text.endswith(b"]\0"), data[at:]
    (note,) = json.loads(text[:-1])
    assert set(note) == {"feature", "description", "priority", "soname"} and note["priority"] == "suggested", note
    features.append(note["feature"])
    at += 16 + (size + 3) // 4 * 4
assert sorted(features) == ["compressed", "cuda", "netcdf", "nvrtc", "opencl"], features
END
    fi
    # every file that opens a library of somebody else's has a note
    for f in $(grep -lE 'dlopen\(' -r src --include='*.c'); do
        [ "$f" = src/cpu/user/user.c ] || grep -q '^TL_OPENS(' "$f" || fail "$f opens libraries and has no note (src/store/store.h)"
    done
fi

# ---- what the package's own tests expect ----
while read -r digest arguments; do
    # shellcheck disable=SC2086
    got=$("$TALLY_CLI" $arguments --digest --column co2 data/co2.csv | grep -oE '[0-9a-f]{64}')
    [ "$got" = "$digest" ] || fail "$debian/tests/run: tally $arguments: $got"
done < <(sed -nE 's/^ *check ([0-9a-f]{64}) /\1 /p' $debian/tests/run)
[ "$(grep -c '^ *check [0-9a-f]' $debian/tests/run)" -ge 2 ] || fail "$debian/tests/run has no digests"
sh -n $debian/tests/run || fail "$debian/tests/run"
[ "$(sed -n 's/^Test-Command: sh debian.tests.run //p' $debian/tests/control | sort | xargs)" = \
    "$(sed -nE 's/^([a-z-]+)\)$/\1/p' $debian/tests/run | sort | xargs)" ] || fail "$debian/tests/control does not name each test"

# ---- the recipes, which are the same with sanitizers ----
if git rev-parse --is-inside-work-tree >/dev/null 2>&1 && [ -z "${TALLY_SANITIZE-}" ] && command -v python3 >/dev/null; then
    recipes
fi
exit $failed
