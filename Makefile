# What ships is built in Embedded mode from the sources that are tested as ordinary Swift: see Package.swift.
RESOURCES := $(shell swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
TRIPLE    := $(shell swiftc -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p' | head -1)
LINK := -Xswiftc -use-ld=lld -Xlinker $(RESOURCES)/embedded/$(TRIPLE)/libswiftUnicodeDataTables.a -Xlinker -lm \
        -Xlinker --version-script=$(CURDIR)/Sources/SegueABI/exports.map -Xlinker -soname=libsegue.so.0 \
        -Xlinker -z -Xlinker nodelete -Xlinker -z -Xlinker defs

lib:
	SEGUE_EMBEDDED=1 swift build -c release --scratch-path .build/embedded --product segue -Xswiftc -g \
	  -Xswiftc -warnings-as-errors $(LINK)
	mkdir -p lib
	objcopy --only-keep-debug .build/embedded/release/libsegue.so lib/libsegue.so.0.debug
	objcopy --strip-all --add-gnu-debuglink=lib/libsegue.so.0.debug .build/embedded/release/libsegue.so lib/libsegue.so.0
	ln -sf libsegue.so.0 lib/libsegue.so

.PHONY: lib
