# SPDX-License-Identifier: MIT
# A thin wrapper: CMakeLists.txt builds tally.
.PHONY: all test demo install clean
all:
	@cmake -S . -B build -DCMAKE_BUILD_TYPE=Release >/dev/null
	@cmake --build build -j $$(nproc)
test:
	scripts/test
demo:
	scripts/demo
install: all
	cmake --install build
clean:
	rm -rf build build-release build-demo build-sanitize build-thread build-arm build-avx512 build-gpu
