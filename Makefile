# SPDX-License-Identifier: MIT
# A thin wrapper: CMakeLists.txt builds tally.
# KERNELS: the CUDA kernels to embed (cmake/kernels.cmake): none, auto (the common ones where a CUDA toolkit is), common, all
.PHONY: all test demo install clean
KERNELS = auto
all:
	@cmake -S . -B build -DCMAKE_BUILD_TYPE=Release "-DTALLY_CUDA_KERNELS=$(KERNELS)" >/dev/null
	@cmake --build build -j $$(nproc)
test:
	scripts/test
demo:
	scripts/demo
install: all
	cmake --install build
clean:
	rm -rf build build-release build-demo build-sanitize build-thread build-arm build-few build-gpu
