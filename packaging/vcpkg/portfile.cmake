# SPDX-License-Identifier: MIT
# vcpkg: the library and its CMake package. scripts/release fills in the words between @ and the archive's SHA-512.
vcpkg_download_distfile(ARCHIVE URLS "@URL@" FILENAME "tally-@VERSION@.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DBUILD_SHARED_LIBS=${shared} -DBUILD_TESTING=OFF -DTALLY_TOOLS=OFF
                              -DTALLY_CUDA_KERNELS=none)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tally)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
