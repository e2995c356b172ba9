#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/release: the recipes are filled in with the version, the address and the checksums of an archive that has the
# tree, and are read by their tools; a recipe with an unknown word is refused. Nothing is downloaded or compiled.
set -uo pipefail
cd "$TALLY_SOURCE" || exit 1
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "skipped: this is not a git tree"; exit 77; }
[ -z "${TALLY_SANITIZE-}" ] || { echo "skipped: the recipes are the same with sanitizers"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: python3 is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
version=$("$TALLY_CLI" --version | cut -d' ' -f2)
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
[ $bad -eq 0 ] && echo "release: the recipes are filled in"
exit $bad
