# SPDX-License-Identifier: MIT
# Nix: callPackage ./default.nix { }. scripts/release fills in the words between @.
{ lib, stdenv, fetchurl, cmake }:

stdenv.mkDerivation (finalAttrs: {
  pname = "tally";
  version = "@VERSION@";

  src = fetchurl {
    url = "@URL@";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [ cmake ];
  cmakeFlags = [
    (lib.cmakeBool "BUILD_TESTING" false)
    (lib.cmakeFeature "TALLY_CUDA_KERNELS" "none")
  ];

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/tally verify --cases 500
  '';

  meta = {
    description = "Reductions, scans and sliding windows with the same bits on every machine";
    license = lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "tally";
  };
})
