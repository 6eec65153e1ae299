# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make help lists what there is. What ships is built in Embedded mode from the sources that are tested as ordinary
# Swift: docs/decisions/two-build-modes.md.
PREFIX  ?= /usr/local
DESTDIR ?=
LIBDIR  ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR  ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec
UNITDIR ?= $(PREFIX)/lib/systemd/user
MANDIR  ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
LUADIR  ?= $(PREFIX)/share/lua/5.1
# Desktops read the system's folder for programs of the system, and no other.
AUTOSTARTDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)/xdg/autostart

# The processor that is built for, and where the files for it lie. Another one than this machine's is aarch64
# (docs/decisions/aarch64-as-a-bare-machine.md).
HOST := $(shell uname -m)
ARCH ?= $(HOST)
ifeq ($(ARCH),$(HOST))
LIB  := lib
DIST := dist
OBJCOPY := objcopy
else
LIB  := lib/$(ARCH)
DIST := dist/$(ARCH)
# Debian's files of that processor, unpacked (packaging/cross).
FOREIGN := .build/$(ARCH)/root
CC := $(ARCH)-linux-gnu-gcc --sysroot=$(FOREIGN)
OBJCOPY := llvm-objcopy
FOREIGN_PACKAGES = $(AARCH64_PACKAGES)
endif

VERSION := $(shell sed -n 's/^\#define SEGUE_VERSION 0x\(..\)\(..\)\(..\)$$/\1 \2 \3/p' include/segue.h | \
             { read major minor patch; echo $$((0x$$major)).$$((0x$$minor)).$$((0x$$patch)); })
# The library of apps, and the one of their tests: docs/decisions/a-library-for-tests.md.
SONAMES := libsegue.so.0 libsegue-fleet.so.0

RESOURCES = $(shell swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
TRIPLE    = $(shell swiftc -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p' | head -1)
# lld, because GNU ld leaves internal symbols in the dynamic table of a library with a version script.
# --wrap: Sources/SegueABI/Boundary/Allocation.swift.
LINK = -Xswiftc -use-ld=lld -Xlinker $(RESOURCES)/embedded/$(TRIPLE)/libswiftUnicodeDataTables.a -Xlinker -lm \
       -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --gc-sections -Xlinker --icf=all \
       -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker $(CURDIR)/Sources/SegueABI/discard.ld
LINK_LIBRARY = $(LINK) -Xlinker --version-script=$(CURDIR)/Sources/SegueABI/exports.map \
       -Xlinker -z -Xlinker nodelete -Xlinker -z -Xlinker defs -Xlinker --wrap=posix_memalign
# No tables for unwinding: nothing throws, debuggers have their own, and one function of C would bring its whole file's.
# Landing pads (CET) in our code; -z cet-report=error is not possible: the start files of Debian 12 have none.
EMBEDDED = SEGUE_EMBEDDED=1 swift build -c release --scratch-path .build/embedded -Xswiftc -g \
       -Xswiftc -warnings-as-errors -Xcc -fcf-protection=full \
       -Xcc -fno-asynchronous-unwind-tables --disable-local-rpath

# For make lib agent install: the library's one dependency, objcopy, and what the agent needs.
BUILD_PACKAGES := libuv1-dev pkg-config binutils libsqlite3-dev libexpat1-dev libssl-dev libsystemd-dev
# For tests, benchmarks and tools. The Python is Debian's, whose gi the GLib adapter is tested with.
TEST_PACKAGES := libffi-dev abigail-tools clang-format cmake g++ dbus libcbor-dev libjansson-dev lua5.4 \
            luajit python3-gi python3-venv tmux valgrind gir1.2-gtk-4.0 python3-pyqt6 xvfb xdotool imagemagick \
             bubblewrap openssh-server neovim mpv libmpv-dev mpv-mpris zsh fish nodejs desktop-file-utils \
             appstream xauth socat curl
# For make deb test-packages.
DEB_PACKAGES := debhelper dh-python python3-all libuv1 libsqlite3-0 libmpv-dev binutils chrpath lintian mmdebstrap \
            diffoscope-minimal python3-venv
# For ARCH=aarch64: the compiler of C, and what runs programs of aarch64. mpv's header is the same everywhere.
AARCH64_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross libmpv-dev mmdebstrap qemu-user-static \
            python3-venv
# For make site.
SITE_PACKAGES := mkdocs-material
# For make test-web and make demo-web.
WEB_PACKAGES := chromium firefox-esr
# For make test-desktop.
DESKTOP_PACKAGES := dunst python3-dbusmock desktop-file-utils appstream fonts-dejavu-core gedit zathura \
            zathura-pdf-poppler okular libglib2.0-bin
PYTHON_SOURCES = $(shell find bindings/python/src bindings/python/pyproject.toml -type f -not -name "*.pyc" 2>/dev/null)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

# $(call install,PACKAGES): the shell's words that install those that are missing. They are no target's prerequisite:
# make runs one of these once, with the packages of the first target that asks.
install = missing=$$(for package in $(1); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || echo $$package; done); \
	if [ -n "$$missing" ]; then \
	  sudo=; [ $$(id -u) -eq 0 ] || sudo=sudo; \
	  $$sudo apt-get update -q && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -qy $$missing; \
	fi

# These do nothing when all is there, so they need neither root nor a network then.
deps-build: ## installs the Debian packages that a build needs and that are missing
	@$(call install,$(BUILD_PACKAGES))

deps: ## the same for builds and tests, and Python packages into .venv
	@$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(SITE_PACKAGES) $(FOREIGN_PACKAGES))
	@$(MAKE) --no-print-directory .venv/.tools

deps-packages: ## the same for a build, Debian packages and their tests
	@$(call install,$(BUILD_PACKAGES) $(DEB_PACKAGES) $(FOREIGN_PACKAGES))

# Debian's packages of Python can be seen from there (gi, PyQt6), with conflicts that are no concern of these.
.venv/.tools: packaging/python-tools.txt
	/usr/bin/python3 -m venv --system-site-packages .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --require-hashes \
	  --requirement $<
	touch $@

lib: ## lib/libsegue.so.0 and lib/libsegue-fleet.so.0, as they ship, and debug information; ARCH=aarch64: lib/aarch64
ifneq ($(ARCH),$(HOST))
	packaging/cross $@ $(ARCH)
else
	@mkdir -p lib
	@for soname in $(SONAMES); do \
	  echo "compiling $$soname, which takes minutes the first time"; \
	  product=$${soname#lib}; product=$${product%.so.*}; built=.build/embedded/release/lib$$product.so; \
	  $(EMBEDDED) --product $$product $(LINK_LIBRARY) -Xlinker -soname=$$soname && \
	  objcopy --only-keep-debug $$built lib/$$soname.debug && \
	  objcopy --strip-all --remove-section=.comment --add-gnu-debuglink=lib/$$soname.debug $$built lib/$$soname && \
	  ln -sf $$soname lib/lib$$product.so || exit; \
	done
endif

# The products that the tests and benchmarks of store and manifests run (Tests/StoreProbe, Tests/ManifestProbe), in the
# mode that ships.
probe:
	for product in StoreProbe ManifestProbe; do $(EMBEDDED) --product $$product $(LINK) || exit; done

agent: ## lib/segue-agent, as it ships, and its debug information beside it; ARCH=aarch64: lib/aarch64
ifneq ($(ARCH),$(HOST))
	packaging/cross $@ $(ARCH)
else
	@echo "compiling segue-agent, which takes minutes the first time"
	@$(EMBEDDED) --product segue-agent $(LINK) -Xlinker --as-needed
	@mkdir -p lib
	objcopy --only-keep-debug .build/embedded/release/segue-agent lib/segue-agent.debug
	objcopy --strip-all --remove-section=.comment --add-gnu-debuglink=lib/segue-agent.debug \
	  .build/embedded/release/segue-agent lib/segue-agent
endif

# Programs that are apps for others, in C over the public header alone: the host of programs without a binding, and the
# app that a browser is (browser/README.md). They find the library beside themselves, or from where they are installed.
APP_FLAGS = -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong \
       -fPIE -pthread -Iinclude -Ilibexec/common
APP_LINK = -Wl,-z,relro,-z,now -Wl,--as-needed $(LIB)/libsegue.so.0
APP_PATH = -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../../lib'
ifneq ($(ARCH),$(HOST))
APP_FLAGS += -mbranch-protection=standard
APP_LINK += -Wl,-rpath-link,$(FOREIGN)/usr/lib/$(ARCH)-linux-gnu
# Unpacks these files of Debian, once.
UNPACK = packaging/cross root $(ARCH)
endif
# Makes the file that ships, and its debug information beside it.
define SPLIT
$(OBJCOPY) --only-keep-debug $@.whole $@.debug
$(OBJCOPY) --strip-all --remove-section=.comment --add-gnu-debuglink=$@.debug $@.whole $@
rm $@.whole
endef
app_files = $(wildcard $(addprefix $(1)/*.,c h inc) libexec/common/*.c libexec/common/*.h)

$(LIB)/segue-stdio: $(call app_files,libexec/stdio)
$(LIB)/segue-browser-host: $(call app_files,browser/host) Sources/CLinux/refused_calls.h
$(LIB)/segue-browser-host: APP_FLAGS += -ISources/CLinux
$(LIB)/segue-desktop: $(call app_files,libexec/desktop)
$(LIB)/segue-desktop: APP_LIBRARIES = -lsystemd
$(LIB)/segue-continue: $(call app_files,libexec/continue) libexec/desktop/asking.c libexec/desktop/requests.c
$(LIB)/segue-continue: APP_FLAGS += -Ilibexec/desktop
# Searches of desktops; what they share with segue-desktop, and who searches in the tests.
DESKTOP_PACKAGES += gnome-shell qmlscene qml-module-qtquick2 qml-module-org-kde-runnermodel
SEARCH_SHARES = asking bus folders launches notifier presence requests settings showing start text token worker
$(LIB)/segue-search: $(call app_files,libexec/search) $(SEARCH_SHARES:%=libexec/desktop/%.c)
$(LIB)/segue-search: $(wildcard libexec/desktop/*.h)
$(LIB)/segue-search: APP_FLAGS += -Ilibexec/desktop
$(LIB)/segue-search: APP_LIBRARIES = -lsystemd
$(LIB)/segue-stdio $(LIB)/segue-browser-host $(LIB)/segue-desktop $(LIB)/segue-continue $(LIB)/segue-search: \
  include/segue.h $(LIB)/libsegue.so.0
	$(UNPACK)
	$(CC) $(APP_FLAGS) $(filter %.c,$^) -o $@.whole -pie $(APP_LINK) $(APP_PATH) $(APP_LIBRARIES)
	$(SPLIT)

browser: $(LIB)/segue-browser-host ## the browser's side: the native host in lib, the extension's packages in dist
	browser/package dist

deps-web: deps ## the browsers that make test-web and make demo-web need
	@$(call install,$(WEB_PACKAGES))

test-web: deps-web embedded ## two real browsers, headless: pages continue at their place, attacks fail
	@$(MAKE) --no-print-directory .venv/.segue lib/segue-browser-host
	@Tests/run --group web

demo-web: deps-web embedded ## a page is continued from Chromium in Firefox, at the same paragraph
	@$(MAKE) --no-print-directory .venv/.segue lib/segue-browser-host
	@.venv/bin/python bindings/demo/web

deps-desktop: deps ## what make test-desktop needs: a notification server, and a stand-in for logind
	@$(call install,$(DESKTOP_PACKAGES))

test-desktop: deps-desktop embedded ## notifications by dunst in Xvfb: a click continues what another device offers
	@$(MAKE) --no-print-directory .venv/.segue lib/segue-desktop lib/segue-stdio lib/segue-mpv.so
	@Tests/run --group desktop

demo-desktop: deps-desktop embedded ## a text goes on in Neovim and a film in mpv, at the desk: one click each in dunst
	@$(MAKE) --no-print-directory .venv/.segue lib/segue-desktop lib/segue-stdio lib/segue-mpv.so
	@.venv/bin/python bindings/demo/desktop

test-desktop: lib/segue-search
desktop: $(LIB)/segue-desktop $(LIB)/segue-search ## notifications when you arrive, and searches (docs/desktop.md)

stdio: $(LIB)/segue-stdio ## lib/segue-stdio: takes part for programs without a binding (docs/stdio.md)

# The plugin for mpv, where mpv's header is (Debian: libmpv-dev).
$(LIB)/segue-mpv.so: integrations/mpv/segue.c include/segue.h $(LIB)/libsegue.so.0
	$(UNPACK)
	$(CC) $(filter-out -fPIE,$(APP_FLAGS)) -fPIC -shared -fvisibility=hidden integrations/mpv/segue.c -o $@.whole \
	  $(APP_LINK) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../..'
	$(SPLIT)

mpv: $(LIB)/segue-mpv.so ## lib/segue-mpv.so: the plugin for mpv (integrations/mpv/README.md)

vscode: ## dist/segue.vsix: the extension for VS Code (integrations/vscode/README.md)
	install -d dist
	integrations/vscode/package dist/segue.vsix

# For targets that only use the library; make lib is what brings it up to date.
$(SONAMES:%=$(LIB)/%) &:
	$(MAKE) lib

$(LIB)/segue-agent:
	$(MAKE) agent

# The Python package as a user has it: installed, with the libraries inside.
.venv/.segue: .venv/.tools $(SONAMES:%=lib/%) lib/segue-continue $(PYTHON_SOURCES)
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --force-reinstall --no-deps ./bindings/python
	touch $@

demo: deps embedded ## from C to Python and back, and an app that does not run; DEMO_BREAK=kill|decline|old-version
	@$(MAKE) --no-print-directory .venv/.segue
	@bindings/demo/run

pictures: deps deps-desktop embedded ## docs/demo.svg: the demo in a terminal, animated; docs/continue-*.png: a desktop
	@$(MAKE) --no-print-directory .venv/.segue lib/segue-desktop lib/segue-stdio
	bindings/demo/pictures --write
	.venv/bin/python bindings/demo/screenshots docs

demo-devices: deps embedded ## two machines with a cable: an account, eight digits, a continuation across, a loss
	@$(MAKE) --no-print-directory .venv/.segue
	@bindings/demo/devices

demo-reach: deps embedded ## two machines without a route: a third one passes bytes on, and is a mailbox
	@$(MAKE) --no-print-directory .venv/.segue
	@bindings/demo/reach

test: deps ## everything, in minutes: both build modes, both bindings, the demo, the examples
	@Tests/run --build

# One after the other: they share their folder.
embedded: lib
	@$(MAKE) --no-print-directory agent

fuzz: deps lib ## bad input at random, ten minutes a target (SEGUE_FUZZ_SECONDS): over an hour on two cores
	@Tests/run --group fuzz

soak: deps lib ## the same work over and over, for about half an hour
	@Tests/run --group soak

# SEED=7 draws again what was drawn then.
mutants: ## breaks each rule, and the modules at random: the tests must notice; hours (--since COMMIT: minutes)
	@Tests/mutants/run $(if $(SEED),--seed $(SEED))

coverage: ## lines of model, wire, engine, driver, routing and store that their tests reach; about three minutes
	@Tests/coverage

bench: deps embedded ## the figures of bench/README.md, in some forty minutes
	@$(MAKE) --no-print-directory .venv/.segue
	@bench/run

wheel: deps embedded ## dist/*.whl with agent, command and libuv inside, tried; ARCH=aarch64: dist/aarch64, not tried
	@$(MAKE) --no-print-directory $(LIB)/segue-continue built-wheel

# Packs the library and the agent that have been built.
built-wheel:
	rm -rf $(DIST)/*.whl
	packaging/wheel $(DIST) $(ARCH)
	$(if $(FOREIGN),,Tests/wheel $(DIST)/*.whl)

deb: deps-packages lib ## dist/deb/*.deb: Debian packages of what make lib agent builds; ARCH=aarch64: dist/aarch64/deb
	@$(MAKE) --no-print-directory agent browser stdio desktop mpv $(LIB)/segue-continue
	@$(MAKE) --no-print-directory built-deb

# Packs the libraries and the programs that have been built.
built-deb:
	$(if $(FOREIGN),packaging/cross builder $(ARCH))
	rm -rf $(DIST)/deb
	packaging/deb $(DIST)/deb $(ARCH)

test-packages: deps-packages ## the packages of what is built in lib: twice the same, and in a bare Debian 12; minutes
	@$(MAKE) --no-print-directory .venv/.tools
	@Tests/run --group packages

deps-aarch64: ## the same for ARCH=aarch64 and its tests
	@$(call install,$(BUILD_PACKAGES) $(DEB_PACKAGES) $(AARCH64_PACKAGES))

test-aarch64: deps-aarch64 ## what make lib agent ARCH=aarch64 has built, under qemu, beside this machine's; minutes
	@$(MAKE) --no-print-directory .venv/.tools
	@Tests/run --group aarch64

deps-site: ## the same for make site
	@$(call install,$(SITE_PACKAGES))

site: deps-site ## dist/site: the pages of docs, and C and Python name by name, as HTML; needs no network
	packaging/site/build dist/site

version:
	@echo $(VERSION)

# Debian's Firefox takes extensions for all users from here, unsigned ones too.
FIREFOX_SCOPE = /usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}
APP_ID = $(shell sed -n 's/^\#define APP_ID "\(.*\)"/\1/p' libexec/common/app_id.h)
SEARCH_PATH = /$(subst -,_,$(subst .,/,$(APP_ID)))/Search
# The files by which desktops find segue-search: the last two are for those users who have enabled it.
SEARCH_FILES = dbus.service:dbus-1/services/$(APP_ID).Search.service \
  search-provider.ini:gnome-shell/search-providers/$(APP_ID).search-provider.ini \
  application.desktop:segue/desktop/$(APP_ID).Search.desktop krunner.desktop:segue/desktop/$(APP_ID).krunner.desktop
FIREFOX_ID = $(shell sed -n 's/^\#define FIREFOX_ID "\(.*\)"/\1/p' browser/host/identity.h)

# The day of the newest entry of the changelog of Debian packages.
RELEASED = $(shell date -u -d "$$(sed -n 's/^ -- .*>  //p' packaging/debian/changelog | head -1)" +%Y-%m-%d)

# Plugins for programs. They are installed where no program looks for them: each user enables some.
PLUGIN_FILES = nvim/README.md nvim/lua/segue.lua nvim/plugin/segue.lua mpv/README.md mpris/README.md \
            gedit/README.md gedit/segue.plugin gedit/segue_gedit.py \
            readers/README.md

PROGRAMS := agent browser-host stdio desktop continue search

# The loader finds a library outside of /lib and /usr/lib only after ldconfig has listed it; a package does that itself.
LISTED = $(if $(DESTDIR),,$(filter 0,$(shell id -u)))

install: $(SONAMES:%=$(LIB)/%) $(PROGRAMS:%=$(LIB)/segue-%) ## all that ships
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/Segue $(DESTDIR)$(INCLUDEDIR) \
	  $(DESTDIR)$(PREFIX)/share/segue $(DESTDIR)$(BINDIR)
	install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(AUTOSTARTDIR)
	install -m 755 $(LIB)/segue-agent $(DESTDIR)$(BINDIR)/segue-agent
	install -d $(DESTDIR)$(LIBEXECDIR)/segue $(DESTDIR)$(PREFIX)/share/segue/types
	install -m 755 $(LIB)/segue-stdio $(DESTDIR)$(LIBEXECDIR)/segue/segue-stdio
	install -m 755 $(LIB)/segue-desktop $(DESTDIR)$(LIBEXECDIR)/segue/segue-desktop
	install -m 755 $(LIB)/segue-continue $(DESTDIR)$(LIBEXECDIR)/segue/segue-continue
	install -m 755 $(LIB)/segue-search $(DESTDIR)$(LIBEXECDIR)/segue/segue-search
	for file in $(SEARCH_FILES); do \
	  install -d "$$(dirname $(DESTDIR)$(PREFIX)/share/$${file#*:})" && \
	  sed -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|; s|@APP_ID@|$(APP_ID)|; s|@SEARCH_PATH@|$(SEARCH_PATH)|' \
	    packaging/search/$${file%%:*}.in >$(DESTDIR)$(PREFIX)/share/$${file#*:} || exit; \
	done
	install -d $(DESTDIR)$(PREFIX)/share/segue/desktop $(DESTDIR)$(PREFIX)/share/applications
	sed -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|' packaging/segue-desktop.service.in \
	  >$(DESTDIR)$(UNITDIR)/segue-desktop.service
	for folder in segue/desktop applications; do \
	  sed -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|; s|@APP_ID@|$(APP_ID)|' packaging/segue-desktop.desktop.in \
	    >$(DESTDIR)$(PREFIX)/share/$$folder/$(APP_ID).desktop || exit; \
	done
	sed -e 's|@LIBEXECDIR@|$(LIBEXECDIR)|; s|@APP_ID@|$(APP_ID)|' packaging/segue-desktop.dbus.in | \
	  install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/dbus-1/services/$(APP_ID).service
	sed -e 's|@APP_ID@|$(APP_ID)|g; s|@VERSION@|$(VERSION)|; s|@DATE@|$(RELEASED)|' packaging/segue.metainfo.xml.in | \
	  install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/metainfo/$(APP_ID).metainfo.xml
	install -D -m 644 browser/extension/icon.svg \
	  $(DESTDIR)$(PREFIX)/share/icons/hicolor/scalable/apps/$(APP_ID).svg
	install -m 644 share/schemas/*.json $(DESTDIR)$(PREFIX)/share/segue/types
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/segue/openers share/openers/*.desktop
	for file in $(PLUGIN_FILES); do \
	  install -D -m 644 integrations/$$file $(DESTDIR)$(PREFIX)/share/segue/integrations/$$file || exit; \
	done
	for file in mpris/segue-mpris readers/segue-reader; do \
	  install -D -m 755 integrations/$$file $(DESTDIR)$(PREFIX)/share/segue/integrations/$$file || exit; \
	done
	if [ -e $(LIB)/segue-mpv.so ]; then \
	  install -D -m 755 $(LIB)/segue-mpv.so $(DESTDIR)$(LIBDIR)/segue/mpv/segue.so; \
	fi
	install -m 644 packaging/segue-agent.socket $(DESTDIR)$(UNITDIR)/segue-agent.socket
	for file in service:$(UNITDIR) desktop:$(AUTOSTARTDIR); do \
	  sed -e 's|@BINDIR@|$(BINDIR)|' packaging/segue-agent.$${file%:*}.in \
	    >$(DESTDIR)$${file#*:}/segue-agent.$${file%:*}; \
	done
	for soname in $(SONAMES); do \
	  install -m 755 $(LIB)/$$soname $(DESTDIR)$(LIBDIR)/$$soname && \
	  ln -sf $$soname $(DESTDIR)$(LIBDIR)/$${soname%.0} || exit; \
	done
	install -m 644 include/segue.h $(DESTDIR)$(INCLUDEDIR)/segue.h
	install -m 644 bindings/segue-api.json $(DESTDIR)$(PREFIX)/share/segue/segue-api.json
	for file in segue.pc:pkgconfig segue-fleet.pc:pkgconfig SegueConfig.cmake:cmake/Segue \
	  SegueConfigVersion.cmake:cmake/Segue; do \
	  sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
	    bindings/c/$${file%:*}.in >$(DESTDIR)$(LIBDIR)/$${file#*:}/$${file%:*}; \
	done
	install -d $(DESTDIR)$(PREFIX)/share/segue/browser
	install -m 755 $(LIB)/segue-browser-host $(DESTDIR)$(LIBEXECDIR)/segue/segue-browser-host
	install -d $(DESTDIR)$(PREFIX)/share/segue/site/example
	install -m 644 browser/site/segue-page.js browser/site/segue-page.d.ts $(DESTDIR)$(PREFIX)/share/segue/site
	install -m 644 browser/site/example/index.html $(DESTDIR)$(PREFIX)/share/segue/site/example
	browser/package $(DESTDIR)$(PREFIX)/share/segue/browser
	browser/package --unpacked $(DESTDIR)$(PREFIX)/share/segue/browser
	install -d $(DESTDIR)$(PREFIX)/share/segue/integrations/vscode
	integrations/vscode/package $(DESTDIR)$(PREFIX)/share/segue/integrations/vscode/segue.vsix
	$(if $(filter /usr,$(PREFIX)),install -d $(DESTDIR)$(FIREFOX_SCOPE) && \
	  ln -sf $(PREFIX)/share/segue/browser/segue-firefox.xpi $(DESTDIR)$(FIREFOX_SCOPE)/$(FIREFOX_ID).xpi)
	install -d $(DESTDIR)$(LUADIR)
	sed -e 's|@LIBDIR@|$(LIBDIR)|; s|@TABLEDIR@|$(PREFIX)/share/segue|' bindings/lua/segue.lua \
	  >$(DESTDIR)$(LUADIR)/segue.lua
	install -d $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(COMPLETIONDIR)
	install -m 644 bindings/python/share/man/man1/segue.1 packaging/segue-agent.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 bindings/python/share/bash-completion/completions/segue $(DESTDIR)$(COMPLETIONDIR)/segue
	$(if $(LISTED),/sbin/ldconfig)

uninstall: ## takes away what install put there
	rm -f $(foreach soname,$(SONAMES),$(addprefix $(DESTDIR)$(LIBDIR)/,$(soname) $(soname:.0=))) \
	  $(DESTDIR)$(INCLUDEDIR)/segue.h $(DESTDIR)$(BINDIR)/segue-agent \
	  $(addprefix $(DESTDIR)$(LIBDIR)/pkgconfig/,segue.pc segue-fleet.pc) \
	  $(DESTDIR)$(UNITDIR)/segue-agent.socket $(DESTDIR)$(UNITDIR)/segue-agent.service \
	  $(DESTDIR)$(AUTOSTARTDIR)/segue-agent.desktop $(DESTDIR)$(UNITDIR)/segue-desktop.service \
	  $(addprefix $(DESTDIR)$(PREFIX)/share/,applications/$(APP_ID).desktop metainfo/$(APP_ID).metainfo.xml \
	    dbus-1/services/$(APP_ID).service icons/hicolor/scalable/apps/$(APP_ID).svg) \
	  $(addprefix $(DESTDIR)$(MANDIR)/man1/,segue.1 segue-agent.1) \
	  $(DESTDIR)$(COMPLETIONDIR)/segue $(DESTDIR)$(LUADIR)/segue.lua
	rm -f $(foreach file,$(SEARCH_FILES),$(DESTDIR)$(PREFIX)/share/$(lastword $(subst :, ,$(file))))
	rm -rf $(addprefix $(DESTDIR),$(LIBDIR)/cmake/Segue $(LIBDIR)/segue $(PREFIX)/share/segue $(LIBEXECDIR)/segue)
	$(if $(filter /usr,$(PREFIX)),rm -f $(DESTDIR)$(FIREFOX_SCOPE)/$(FIREFOX_ID).xpi)
	$(if $(LISTED),/sbin/ldconfig)

# The files that the formatters are for; scripts without an extension are found by their first line.
SWIFT_SOURCES  = Package.swift Sources Tests
C_SOURCES      = $(shell git ls-files '*.c' '*.h')
PYTHON_SCRIPTS = $(shell git ls-files '*.py'; git ls-files -z | xargs -0 grep -lsE '^\#!.*python3' --)

format: deps ## as the formatters want it
	swift format --in-place --recursive $(SWIFT_SOURCES)
	clang-format -i $(C_SOURCES)
	.venv/bin/ruff format $(PYTHON_SCRIPTS)

lint: deps ## says what the formatters and linters would change
	swift format lint --strict --recursive $(SWIFT_SOURCES)
	clang-format --dry-run --Werror $(C_SOURCES)
	.venv/bin/ruff format --check $(PYTHON_SCRIPTS)
	.venv/bin/ruff check $(PYTHON_SCRIPTS)
	Tests/lint
	Tests/licence

clean: ## takes away what was built
	rm -rf .build .venv lib dist bench/results

.PHONY: help deps deps-build lib probe agent embedded demo pictures demo-devices demo-reach \
        test fuzz soak \
        mutants coverage \
        bench wheel built-wheel deb built-deb deps-packages test-packages deps-aarch64 test-aarch64 deps-site \
        site browser deps-web test-web demo-web demo-desktop version \
        desktop deps-desktop test-desktop stdio mpv vscode install uninstall format lint clean
