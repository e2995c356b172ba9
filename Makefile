# SPDX-License-Identifier: MIT
# A thin wrapper: CMakeLists.txt builds tally.
# KERNELS: the CUDA kernels to embed (cmake/kernels.cmake): none, auto (the common ones where a CUDA toolkit is),
# common, all
# PREFIX, DESTDIR: where `make install` puts it (/usr/local), and a folder in front of that, for packages
# BUILD: the folder to build in
.PHONY: all test demo install clean
KERNELS = auto
PREFIX =
DESTDIR =
BUILD = build
all:
	@cmake -S . -B "$(BUILD)" -DCMAKE_BUILD_TYPE=Release "-DTALLY_CUDA_KERNELS=$(KERNELS)" \
	    $(if $(PREFIX),"-DCMAKE_INSTALL_PREFIX=$(PREFIX)") >/dev/null
	@cmake --build "$(BUILD)" -j $$(nproc)
test:
	scripts/test
demo:
	scripts/demo
install: all
	DESTDIR="$(DESTDIR)" cmake --install "$(BUILD)" $(if $(PREFIX),--prefix "$(PREFIX)")
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true # programs find the shared library from now on
clean:
	rm -rf build build-release build-demo build-sanitize build-thread build-arm build-few build-gpu
