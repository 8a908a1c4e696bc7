# Jostle: build, check, install. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
SWIFT ?= $(shell command -v swift || echo /opt/swift/usr/bin/swift)
VERSION = $(shell sed -n 's/.*text = "\(.*\)"/\1/p' Sources/Motion/Version.swift)
# The user that the daemons run as on the system bus.
SERVICE_USER ?= jostle

# Where SwiftPM builds, and a packager's flags for it.
SCRATCH ?= .build
BUILD_FLAGS ?=
# What an event needs of the broker's code stands side by side in the program, function by function, in the order of this list: docs/decisions/031
# says what that is worth. Names that a program does not have are passed over. `make order` makes the list anew.
ORDER = Sources/jostle-brokerd/event.order
UNPROFILED = -c release --static-swift-stdlib -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld \
    -Xlinker --symbol-ordering-file=$(CURDIR)/$(ORDER) -Xlinker --no-warn-symbol-ordering
# How often the parts of these functions run, which the compiler is told, too; the same page says what for. Of a function that was changed since
# it takes no notice. `make profile` counts anew.
PROFILE = Sources/jostle-brokerd/event.profile
# Its name says what is in the two files: SwiftPM does not look into what a flag names, and builds anew what has other flags.
PROFILE_DATA := $(abspath $(SCRATCH))/event-$(shell cat $(ORDER) $(PROFILE) | sha256sum | cut -c 1-12).profdata
RELEASE = $(UNPROFILED) -Xswiftc -Xfrontend -Xswiftc -ir-profile-use=$(PROFILE_DATA)
# Where the compiler's own tools are.
TOOLCHAIN = $(shell $(SWIFT) -print-target-info | sed -n 's|.*"runtimeResourcePath": "\(.*\)/lib/swift".*|\1|p')
# What has a program count, and write down when it ends.
COUNTING = -Xswiftc -Xfrontend -Xswiftc -ir-profile-generate -Xlinker -u__llvm_profile_runtime \
    -Xlinker $(wildcard $(TOOLCHAIN)/lib/clang/*/lib/linux/libclang_rt.profile-$(shell uname -m).a)
COUNTED = .build/counted
# What is tested is built beside what ships, so that tests may look into it: the daemons optimised as they ship, commands
# and apps not (Package.swift). Tests are loaded with the library as it is shared, which alone has what they are written with.
TESTED = .build/tested
SHARED_MODULES = $(abspath $(TESTED))/modules
TESTED_FLAGS = $(RELEASE) --scratch-path $(TESTED) -Xswiftc -enable-testing -Xswiftc -I$(SHARED_MODULES) \
    -Xlinker -L$(TOOLCHAIN)/lib/swift_static/linux
TESTED_SWIFT = env JOSTLE_TESTED=1 $(SWIFT)
TEST = $(TESTED_SWIFT) test -c release --scratch-path $(TESTED) --skip-build --disable-xctest
# Where the programs are that are installed.
PROGRAMS_DIR ?= $(SCRATCH)/release
# Where the manual pages are that are installed.
MANUAL_DIR ?= $(SCRATCH)/man

BIN = $(PREFIX)/bin
LIBEXEC = $(PREFIX)/libexec
SHARE = $(PREFIX)/share
# Where systemd and udev look; Debian 12 has its own in /lib.
SYSTEM_UNITS = $(PREFIX)/lib/systemd/system
USER_UNITS = $(PREFIX)/lib/systemd/user
UDEV = $(PREFIX)/lib/udev
# The system's bus and polkit look in places of their own, whatever PREFIX is: neither reads /usr/local/share (polkit does since 126).
BUS_POLICY = $(if $(filter /usr,$(PREFIX)),/usr/share,/etc)/dbus-1/system.d
POLKIT_ACTIONS = /usr/share/polkit-1/actions
# Our programs read it below /usr and /usr/local.
POLICY = $(SHARE)/jostle/policy.d
GNOME_EXTENSION = $(SHARE)/gnome-shell/extensions/jostle-focus@jostle.org
SENSOR_PROXY_UNIT = $(SYSTEM_UNITS)/jostle-sensord.service.d/sensor-proxy.conf

DAEMONS = jostle-sensord jostle-brokerd
# Apps that the demos start.
EXAMPLES = example-background example-pomodoro example-refresh example-tracker
PROGRAMS = jostle $(DAEMONS) $(EXAMPLES)
# What building and the demo need, and what the tests and lints need besides.
# The program that looks at displays, and what it needs besides; `make demo` needs neither.
FOCUS = jostle-focus
FOCUS_PACKAGES = libwayland-dev libwayland-bin libxcb1-dev libxcb-res0-dev libxau-dev
# What its tests run on.
DESKTOP_PACKAGES = xvfb openbox x11-apps x11-utils xdotool wmctrl sway phoc foot kwin-wayland gnome-shell gir1.2-gtk-3.0
# The program that speaks to a server, and what it needs besides; and what its tests have for a server.
BRIDGE = jostle-bridge
# The operator's program, which needs the same.
FLEET = jostle-fleet
BRIDGE_PACKAGES = libmosquitto-dev libssl-dev
SERVER_PACKAGES = mosquitto mosquitto-clients openssl
BUILD_PACKAGES = pkg-config libdbus-1-dev libinih-dev libsqlite3-dev libudev-dev libevdev-dev libgps-dev dbus python3
PACKAGES = $(BUILD_PACKAGES) dbus-broker systemd libglib2.0-bin python3-dbus-fast libxml2-utils umockdev \
    gir1.2-umockdev-1.0 python3-gi locales iio-sensor-proxy
# What the benchmark starts besides, and preloads.
BENCH_PRODUCTS = jostle-bench jostle-baseline test-tether malloc-count
# What a virtual machine with a kernel of its own needs besides.
VM_PACKAGES = qemu-system-x86 busybox-static udev mmdebstrap e2fsprogs libinput-tools
# How long samples are counted there.
VM_SECONDS ?= 10
INSTALL = install -D -m 644

.PHONY: help deps deps-build deps-bench deps-vm deps-focus deps-bridge deps-desktops deps-deb deps-package deps-report build build-all build-focus build-bridge build-fleet build-bench install-bridge install-fleet build-programs test-focus test-focus-installed lint-protocol install-focus manual deb test-package test-reproducible test-report test test-attacks test-kills fuzz-bus fuzz-files fuzz-near test-walks soak soak-processes test-fleet test-mutations test-confined test-sanitized test-vm test-installed lint lint-format lint-sizes lint-docs lint-foundation lint-dbus lint-units lint-policy lint-manual demo \
    bench order profile install install-docs install-interfaces install-units install-manual install-completions install-sensor-proxy install-system-broker clean fuzz

help:
	@echo 'make deps     install the Debian packages that are missing'
	@echo 'make build    build the release programs into .build/release, and of them the manual pages into .build/man'
	@echo 'make build-focus  build $(FOCUS), which looks at displays and needs their libraries'
	@echo 'make build-bridge  build $(BRIDGE), which speaks to an MQTT server and needs its library'
	@echo 'make build-fleet  build $(FLEET), which steers many devices over that server'
	@echo 'make test     build all that is tested, the daemons optimised, and run all tests; JOSTLE_TEST_BUS=dbus-broker runs them on the other bus'
	@echo 'make test-attacks  attack the daemons on both buses, each way for ATTACK_SECONDS=$(ATTACK_SECONDS)'
	@echo 'make test-fleet  have a bridge and its server live through an outage of OUTAGE=$(OUTAGE) s, and 1000 devices come at once'
	@echo 'make test-kills  kill the broker, the reader, the bus, an app and the bridge under load, each KILLS=$(KILLS) times'
	@echo 'make fuzz-bus  say FUZZ_MESSAGES=$(FUZZ_MESSAGES) made-up things to live daemons, twice; FUZZ_SEED= says them again'
	@echo 'make fuzz-files  open files of a broker with flipped bits, FLIPS=$(FLIPS) times'
	@echo 'make fuzz-near  feed what is near the corpora, and near what make fuzz found, NEAR_SECONDS=$(NEAR_SECONDS) of each'
	@echo 'make test-walks  play every seed of the random walks, of which the suite plays one in four'
	@echo 'make soak     play lives of the whole, LIVES=$(LIVES) from seed FIRST=$(FIRST); goes on behind what was played'
	@echo 'make soak-processes  have all that may go wrong happen to real processes, for SOAK_SECONDS=$(SOAK_SECONDS)'
	@echo 'make test-mutations  break the core in more than twenty ways, and see that the simulator finds each'
	@echo 'make test-sanitized  run the tests in which anybody says anything to the daemons with the address sanitizer in both; FILTER= runs others'
	@echo 'make test-confined  run the tests of the daemons with what their units allow of the kernel'
	@echo 'make test-focus  run $(FOCUS) with X, sway, phoc, KWin and GNOME Shell; as root'
	@echo 'make test-focus-installed  the same with the packages of make deb installed'
	@echo 'make test-report  look at the pages of jostle report in a browser, and time large ones'
	@echo 'make test-vm  run the reader on a kernel with a sensor hub, in qemu; VM_SECONDS=600'
	@echo 'make test-installed  install the Debian packages in a Debian with systemd, in qemu, and use them'
	@echo 'make lint     check format, sizes, documents, imports, linkage, the D-Bus files, units, policies and the manual'
	@echo 'make demo     show two apps, one shake, and who gets it'
	@echo 'make bench    measure against the budget, which takes six to eight minutes'
	@echo 'make order    list anew the functions that an event needs, for the linker'
	@echo 'make profile  count anew how often their parts run, for the compiler'
	@echo 'make fuzz     feed made-up bytes to every reader; FUZZ_SECONDS=60 for each'
	@echo 'make install  install the release programs; PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make install-interfaces  install only what other programs are built with: the D-Bus interface files'
	@echo 'make install-docs  install only README.md, the pages and the examples, under share/doc/jostle'
	@echo 'make install-system-broker  install besides what lets the system bus start a broker, for devices without sessions'
	@echo 'make install-sensor-proxy  install besides what puts jostle-sensord in the place of iio-sensor-proxy'
	@echo 'make deb      build the Debian packages into .build/deb'
	@echo 'make test-reproducible  build them again and compare'
	@echo 'make test-package  install, upgrade, remove and purge them in a Debian of their own'
	@echo 'make install-focus  install besides what make build-focus made, its units and activation'
	@echo 'make install-bridge  install besides what make build-bridge made, its units and its policy'
	@echo 'make install-fleet  install besides, or alone, what make build-fleet made'
	@echo 'make clean    remove .build'

# What the tests take for logind, and for a terminal.
PACKAGES += python3-dbusmock tmux
# What the tests play a receiver with.
PACKAGES += gpsd gpsd-clients
# What the Python package is made with.
PACKAGES += python3-pip python3-setuptools python3-wheel
# SwiftPM builds all there is for the tests.
PACKAGES += $(FOCUS_PACKAGES) $(BRIDGE_PACKAGES)
# What the tests of the bridge have for a server.
PACKAGES += $(SERVER_PACKAGES)
# What Flatpak makes its sandboxes with, and the tests theirs.
PACKAGES += bubblewrap xdg-dbus-proxy
# What makes code of the interface files, and what the examples in other languages are built with and run on.
PACKAGES += gcc g++ libc6-dev libglib2.0-dev libsystemd-dev qtbase5-dev valac gjs python3-jeepney

# What reads manual pages, and the shells in which command lines are completed.
PACKAGES += man-db mandoc bash zsh fish

# What the Debian packages are built with, and what they are tested with.
DEB_PACKAGES = $(BUILD_PACKAGES) $(BRIDGE_PACKAGES) debhelper dh-python lintian python3-all pybuild-plugin-pyproject python3-setuptools \
    python3-dbus-fast
PACKAGE_PACKAGES = mmdebstrap dpkg-dev
# What looks at the pages of reports.
REPORT_PACKAGES = chromium chromium-driver python3-selenium python3-pip fonts-dejavu-core

# What the benchmark counts instructions with, and what it needs for devices and for what it compares with.
PACKAGES += valgrind binutils
BENCH_PACKAGES = $(BUILD_PACKAGES) valgrind binutils systemd umockdev gir1.2-umockdev-1.0 python3-gi python3-dbusmock \
    iio-sensor-proxy

# Nothing is asked of root, or of the network, unless something is missing.
deps-build: PACKAGES = $(BUILD_PACKAGES)
deps-bench: PACKAGES = $(BENCH_PACKAGES)
deps-vm: PACKAGES = $(VM_PACKAGES)
deps-focus: PACKAGES = $(BUILD_PACKAGES) $(FOCUS_PACKAGES)
deps-bridge: PACKAGES = $(BUILD_PACKAGES) $(BRIDGE_PACKAGES)
deps-desktops: PACKAGES += $(DESKTOP_PACKAGES)
deps-deb: PACKAGES = $(DEB_PACKAGES)
deps-package: PACKAGES = $(PACKAGE_PACKAGES)
deps-report: PACKAGES = $(BUILD_PACKAGES) $(REPORT_PACKAGES)
deps deps-build deps-bench deps-vm deps-focus deps-bridge deps-desktops deps-deb deps-package deps-report:
	@missing=; for package in $(PACKAGES); do \
	    test "$$(dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null)" = installed || \
	        missing="$$missing $$package"; \
	done; \
	test -z "$$missing" && exit 0; \
	echo "installing:$$missing"; \
	root=; test "$$(id -u)" = 0 || root=sudo; \
	$$root apt-get update -q && \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing

$(PROFILE_DATA): $(PROFILE)
	@mkdir -p $(@D)
	$(TOOLCHAIN)/bin/llvm-profdata merge -o $@ $<

# Not all there is: what looks at displays has packages of its own.
build: deps-build $(PROFILE_DATA)
	for product in $(PROGRAMS); do $(SWIFT) build $(RELEASE) --product $$product || exit 1; done
	@$(MAKE) --no-print-directory manual PROGRAMS_DIR=.build/release

# The program that looks at the session's displays.
build-focus: deps-focus $(PROFILE_DATA)
	$(SWIFT) build $(RELEASE) --product $(FOCUS)

# The program that tells a server.
build-bridge: deps-bridge $(PROFILE_DATA)
	$(SWIFT) build $(RELEASE) --product $(BRIDGE)

# The program of whoever steers many devices.
build-fleet: deps-bridge $(PROFILE_DATA)
	$(SWIFT) build $(RELEASE) --product $(FLEET)

# The tests, whatever they start, and whatever lints look at. No target may import what it does not name.
build-all: deps $(PROFILE_DATA)
	@mkdir -p $(SHARED_MODULES)
	@for module in Testing _TestingInterop XCTest; do \
	    ln -sfn $(TOOLCHAIN)/lib/swift/linux/$$module.swiftmodule $(SHARED_MODULES)/$$module.swiftmodule || exit 1; \
	done
	$(TESTED_SWIFT) build $(TESTED_FLAGS) --build-tests --explicit-target-dependency-import-check error

# The pages say what the programs say of themselves, and what docs says. Programs run for that, so it is nothing for root to do.
manual:
	rm -rf $(MANUAL_DIR)/man[0-9]
	Sources/manual/make-manual $(PROGRAMS_DIR) $(MANUAL_DIR)

# Only what is installed, and nothing is installed for it; for packagers. ALSO=$(FOCUS) builds that, too.
build-programs: $(PROFILE_DATA)
	for program in $(PROGRAMS) $(ALSO); do \
	    $(SWIFT) build $(RELEASE) --scratch-path $(SCRATCH) $(BUILD_FLAGS) --product $$program || exit 1; \
	done
	@$(MAKE) --no-print-directory manual

# What the optimiser makes of the daemons shows nowhere else.
test: build-all
	Tests/Scripts/run-suite $(TEST)

# Kills the broker, the reader, the bus, an app and the bridge under load, each so many times; the suite does it 20 and 6 times.
KILLS ?= 200

test-kills: build-all
	JOSTLE_KILLS=$(KILLS) $(TEST) --filter 'aKilledBroker(LosesNothing|StillOwes|LosesNoRegistration)|killedAtAnyMoment|aBridgeKilledAtAnyMoment'

# Says so much to live daemons, whatever their interfaces let one say and more; FUZZ_SEED says the same again.
FUZZ_MESSAGES ?= 1000000
FUZZ_SEED ?=

fuzz-bus: build-all
	JOSTLE_FUZZ_MESSAGES=$(FUZZ_MESSAGES) JOSTLE_FUZZ_SEED=$(FUZZ_SEED) $(TEST) --filter 'EndToEnd.Strangers'

# Opens files of a broker in which bits are flipped, from this seed on; the suite does it 48 times.
FLIPS ?= 10000
FIRST_FLIP ?= 0

fuzz-files: build-all
	JOSTLE_FLIPS=$(FLIPS) JOSTLE_FIRST_FLIP=$(FIRST_FLIP) $(TEST) --filter 'JournalTests.FlippedBitTests'

# Plays every seed of the walks.
test-walks: build-all
	JOSTLE_WALKS=all $(TEST) --skip '^(SystemTests|BenchTests)\.'

# Lives of the simulator. What was played stands in .build/soak.book, and is not played again.
LIVES ?= 100000
FIRST ?= 0

soak: deps $(PROFILE_DATA)
	$(SWIFT) build $(RELEASE) --product soak
	.build/release/soak $(FIRST) $$(($(FIRST) + $(LIVES))) .build/soak.book

# Real processes, to which all that may go wrong happens at once; the suite plays it shortly.
SOAK_SECONDS ?= 3600

soak-processes: build-all
	JOSTLE_SOAK_SECONDS=$(SOAK_SECONDS) $(TEST) --filter 'EndToEnd.Soaks'

# A bridge and a server that is away for so many seconds, many devices at once, and what all that takes; the suite plays it shortly.
OUTAGE ?= 300

test-fleet: build-all
	JOSTLE_FLEET_OUTAGE=$(OUTAGE) $(TEST) --filter 'Surroundings.(Bridges|FleetStorms)'

# In a copy, as the source is broken there.
test-mutations: deps
	Tests/Scripts/mutations.py . .build/mutations

# The tests of both daemons, which may ask of the kernel only what their units allow. FILTER=EndToEnd.Broker runs some of them.
FILTER ?= EndToEnd|Senses|Surroundings

test-confined: deps
	$(SWIFT) build --build-tests
	python3 Tests/Scripts/confined.py .build/debug .build/confined
	JOSTLE_TEST_PROGRAMS=$(CURDIR)/.build/confined $(SWIFT) test --skip-build --disable-xctest --filter '$(FILTER)'

# Both daemons with the address sanitizer, which looks at each access to memory and ends them at a wrong one, while anybody says anything
# to them. What they hold is then no measure of anything.
SANITIZED = .build/sanitized

test-sanitized: FILTER = EndToEnd.(Strangers|BadInput|Forgeries|Losses|Flow|Identities|DurableApps|Clips|Tasks|Soaks)
test-sanitized: build-all
	for daemon in $(DAEMONS); do \
	    $(SWIFT) build -c release --sanitize address --scratch-path $(SANITIZED) --product $$daemon || exit 1; \
	done
	rm -rf $(SANITIZED)/programs
	mkdir -p $(SANITIZED)/programs
	find $(CURDIR)/$(TESTED)/release/ -maxdepth 1 -type f -exec ln -s -t $(SANITIZED)/programs {} +
	for daemon in $(DAEMONS); do ln -sfn $(CURDIR)/$(SANITIZED)/release/$$daemon $(SANITIZED)/programs/$$daemon || exit 1; done
	JOSTLE_TEST_PROGRAMS=$(CURDIR)/$(SANITIZED)/programs ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 $(TEST) --filter '$(FILTER)'

# Attacks the daemons on both buses, each way for so long; the suite does it for two seconds.
ATTACK_SECONDS ?= 10

test-attacks: build-all
	@for bus in dbus-daemon dbus-broker; do \
	    JOSTLE_TEST_BUS=$$bus JOSTLE_ATTACK_SECONDS=$(ATTACK_SECONDS) $(TEST) --filter 'EndToEnd.(Floods|Forgeries|Starvation|Reloads)' || exit 1; \
	done

# jostle-focus with true displays; as root, which becomes another user for those that are not to be root's.
test-focus: deps-desktops
	JOSTLE_TEST_DESKTOPS=1 $(SWIFT) test --disable-xctest --filter 'Senses.(Desktops|Shells|PhoneShells|Sleepers)'

# The same with the programs that `make deb` has packed, installed over this machine's files, which stay as they are.
test-focus-installed: deps-desktops
	$(SWIFT) build --build-tests
	JOSTLE_TEST_DESKTOPS=1 Tests/Scripts/with-packages $(DEB) $(CURDIR)/.build/debug \
	    $(SWIFT) test --skip-build --disable-xctest --filter 'Senses.(Desktops|Shells|PhoneShells|Sleepers)'

# The reader with a true /dev/iio:device0, in a virtual machine. Downloads a kernel (70 MB) the first time.
test-vm: deps-vm build
	Tests/VM/run .build/vm python3 Tests/VM/guest.py .build/release $(VM_SECONDS)
	Tests/VM/run .build/vm python3 Tests/VM/tablet_guest.py .build/release

# Jostle as it is installed: a Debian with systemd, two people and a suspend. The first time it makes that Debian, as root.
test-installed: deps-vm
	@ls $(DEB)/*.deb > /dev/null 2>&1 || { echo "no packages in $(DEB): run make deb first"; exit 1; }
	Tests/VM/installed .build/vm-installed $(DEB)

# Pages of journals with very many rows, in a browser. Loads axe-core, which judges them, once.
AXE = axe-playwright-python==0.1.8

test-report: deps-report build
	@test -e .build/report/axe.min.js || { mkdir -p .build/report && \
	    python3 -m pip download -q --no-deps -d .build/report '$(AXE)' && \
	    python3 -c 'import glob, zipfile; print(zipfile.ZipFile(glob.glob(".build/report/*.whl")[0]).read("axe_playwright_python/axe.min.js").decode())' \
	        > .build/report/axe.min.js; }
	/usr/bin/python3 Tests/Scripts/report-browser.py .build/release/jostle .build/report

lint: lint-format lint-sizes lint-protocol lint-docs lint-foundation lint-dbus lint-units lint-policy lint-manual

lint-format:
	$(SWIFT) format lint --strict --parallel -r Sources Tests docs/examples Package.swift

# What is made of a protocol's XML is what is here.
lint-protocol: deps
	Sources/CWlrToplevel/generate --check

# A type that nobody can see as a whole has to be cut.
lint-sizes:
	python3 Tests/Scripts/type-sizes.py Sources

lint-docs:
	python3 Tests/Scripts/doc-names.py README.md CONTRIBUTING.md docs/*.md docs/decisions/*.md

# Foundation costs 17 MB and 5 ms at every start; what a program takes of it stands among its names, as it is linked in.
lint-foundation: build-all
	@for program in $(PROGRAMS) $(FOCUS) $(BRIDGE) $(FLEET); do \
	    nm $(TESTED)/release/$$program > .build/names || exit 1; \
	    ! grep -q 's[0-9][0-9]Foundation' .build/names || { echo "$$program links Foundation"; exit 1; }; \
	done

lint-dbus: build-all
	xmllint --noout $(wildcard dbus/*.conf dbus/*.xml dbus/*.policy.in)
	dbus/check-xml $(TESTED)/release
	dbus/make-reference --check

lint-units: deps
	systemd/check-units

demo: build
	.build/release/jostle demo

# What measures, beside what is measured.
build-bench: deps-bench build
	for product in $(BENCH_PRODUCTS); do $(SWIFT) build $(RELEASE) --product $$product || exit 1; done

bench: build-bench
	.build/release/jostle-bench

# The functions that an event needs, for the linker.
order: build-bench
	.build/release/jostle-bench --functions > .build/event.order
	mv .build/event.order $(ORDER)

# How often their parts run, for the compiler: a broker that counts, in events of the benchmark.
profile: build-bench
	$(SWIFT) build $(UNPROFILED) $(COUNTING) --scratch-path $(COUNTED) --product jostle-brokerd
	rm -rf $(COUNTED)/programs && mkdir $(COUNTED)/programs
	cp $(addprefix .build/release/,jostle jostle-sensord jostle-baseline test-tether) $(COUNTED)/release/jostle-brokerd $(COUNTED)/programs
	@# What an event costs while it is counted is not judged.
	LLVM_PROFILE_FILE=$(CURDIR)/$(COUNTED)/programs/%p.profraw JOSTLE_TEST_PROGRAMS=$(CURDIR)/$(COUNTED)/programs \
	    .build/release/jostle-bench --only two-hops || true
	Sources/jostle-brokerd/make-profile $(TOOLCHAIN)/bin/llvm-profdata $(ORDER) $(COUNTED)/programs/*.profraw > .build/event.profile
	mv .build/event.profile $(PROFILE)

# What others build against; pkg-config --variable=interfaces_dir jostle says where it is.
install-interfaces:
	for file in $(wildcard dbus/*.xml); do \
	    $(INSTALL) $$file $(DESTDIR)$(SHARE)/dbus-1/interfaces/$${file##*/} || exit 1; \
	done
	install -d $(DESTDIR)$(SHARE)/pkgconfig
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(VERSION)|' dbus/jostle.pc.in > $(DESTDIR)$(SHARE)/pkgconfig/jostle.pc
	chmod 644 $(DESTDIR)$(SHARE)/pkgconfig/jostle.pc

# Units, and what the journal says of our messages.
install-units:
	for unit in $(SYSTEM_UNITS)/jostle-sensord.service $(SYSTEM_UNITS)/jostle-brokerd.service \
	    $(USER_UNITS)/jostle-brokerd.service $(USER_UNITS)/jostle-durable.service; do \
	    folder=$${unit%/*} && $(INSTALL) /dev/null $(DESTDIR)$$unit && \
	    sed -e 's|@libexecdir@|$(LIBEXEC)|' -e 's|@user@|$(SERVICE_USER)|' systemd/$${folder##*/}/$${unit##*/}.in \
	        > $(DESTDIR)$$unit || exit 1; \
	done
	$(INSTALL) systemd/jostle.catalog $(DESTDIR)$(PREFIX)/lib/systemd/catalog/jostle.catalog

# README.md, the pages and the examples, in the folders in which they stand here: so what one cites of another is there.
install-docs:
	for file in README.md LICENSE $$(find docs -type f -not -path '*/__pycache__/*'); do \
	    $(INSTALL) $$file $(DESTDIR)$(SHARE)/doc/jostle/$$file || exit 1; \
	done

install-manual:
	@test -e $(MANUAL_DIR)/man1/jostle.1 || { echo "no $(MANUAL_DIR)/man1/jostle.1: run make build first"; exit 1; }
	for page in $$(cd $(MANUAL_DIR) && ls man[0-9]/* | grep -v -e $(FOCUS) -e $(BRIDGE) -e $(FLEET)); do \
	    $(INSTALL) $(MANUAL_DIR)/$$page $(DESTDIR)$(SHARE)/man/$$page || exit 1; \
	done

# Shells look for a file by the name of the command that is completed; zsh reads in it which those are.
install-completions:
	$(INSTALL) Sources/completions/jostle.bash $(DESTDIR)$(SHARE)/bash-completion/completions/jostle
	$(INSTALL) Sources/completions/_jostle $(DESTDIR)$(SHARE)/zsh/site-functions/_jostle
	$(INSTALL) Sources/completions/jostle.fish $(DESTDIR)$(SHARE)/fish/vendor_completions.d/jostle.fish
	for daemon in $(DAEMONS); do \
	    ln -sf jostle $(DESTDIR)$(SHARE)/bash-completion/completions/$$daemon && \
	    ln -sf jostle.fish $(DESTDIR)$(SHARE)/fish/vendor_completions.d/$$daemon.fish || exit 1; \
	done

# Does not build, so that what root installs is what the user built.
install:
	@for program in $(PROGRAMS); do \
	    test -x $(PROGRAMS_DIR)/$$program || { echo "no $(PROGRAMS_DIR)/$$program: run make build first"; exit 1; }; \
	done
	install -D -m 755 $(PROGRAMS_DIR)/jostle $(DESTDIR)$(BIN)/jostle
	for daemon in $(DAEMONS); do \
	    install -D -m 755 $(PROGRAMS_DIR)/$$daemon $(DESTDIR)$(LIBEXEC)/$$daemon || exit 1; \
	done
	for example in $(EXAMPLES); do \
	    install -D -m 755 $(PROGRAMS_DIR)/$$example $(DESTDIR)$(LIBEXEC)/jostle/$$example || exit 1; \
	done
	for file in $(wildcard policies/*.conf); do \
	    $(INSTALL) $$file $(DESTDIR)$(POLICY)/$${file##*/} || exit 1; \
	done
	@$(MAKE) --no-print-directory install-interfaces install-docs install-units install-manual install-completions
	# One reader for the machine: a session bus started one of its own once.
	rm -f $(DESTDIR)$(SHARE)/dbus-1/services/org.jostle.Sensors1.service
	for file in services/org.jostle.Broker1.service \
	    system-services/org.jostle.Sensors1.service; do \
	    install -d $(DESTDIR)$(SHARE)/dbus-1/$${file%/*} && \
	    sed -e 's|@libexecdir@|$(LIBEXEC)|' -e 's|@user@|$(SERVICE_USER)|' dbus/$$file.in \
	        > $(DESTDIR)$(SHARE)/dbus-1/$$file && \
	    chmod 644 $(DESTDIR)$(SHARE)/dbus-1/$$file || exit 1; \
	done
	$(INSTALL) /dev/null $(DESTDIR)$(UDEV)/rules.d/60-jostle.rules
	sed -e 's|@user@|$(SERVICE_USER)|' udev/60-jostle.rules.in > $(DESTDIR)$(UDEV)/rules.d/60-jostle.rules
	$(INSTALL) /dev/null $(DESTDIR)$(PREFIX)/lib/sysusers.d/jostle.conf
	sed -e 's|^u jostle |u $(SERVICE_USER) |' dbus/jostle.sysusers > $(DESTDIR)$(PREFIX)/lib/sysusers.d/jostle.conf
	$(INSTALL) /dev/null $(DESTDIR)$(BUS_POLICY)/org.jostle.conf
	sed -e 's|user="jostle"|user="$(SERVICE_USER)"|' dbus/org.jostle.conf > $(DESTDIR)$(BUS_POLICY)/org.jostle.conf
	$(INSTALL) /dev/null $(DESTDIR)$(POLKIT_ACTIONS)/org.jostle.sensors.policy
	sed -e 's|@user@|$(SERVICE_USER)|' dbus/org.jostle.sensors.policy.in \
	    > $(DESTDIR)$(POLKIT_ACTIONS)/org.jostle.sensors.policy
	# Where the reader has the other name, too, this one started it without.
	@test ! -e $(DESTDIR)$(SENSOR_PROXY_UNIT) || $(MAKE) --no-print-directory install-sensor-proxy
	@test -n "$(DESTDIR)" || case $(PREFIX) in /usr | /usr/local) ;; *) \
	    echo 'Nobody looks below $(PREFIX) unless told: systemd for units (SYSTEM_UNITS=, USER_UNITS=) and lib/sysusers.d, udev for' \
	        'rules (UDEV=), our daemons for policy (POLICY=), the buses for share/dbus-1/services and' \
	        'share/dbus-1/system-services.'; esac

# After install. For devices without sessions: whoever calls the system bus then hears motion, whichever session is in front.
install-system-broker:
	$(INSTALL) /dev/null $(DESTDIR)$(SHARE)/dbus-1/system-services/org.jostle.Broker1.service
	sed -e 's|@libexecdir@|$(LIBEXEC)|' -e 's|@user@|$(SERVICE_USER)|' dbus/system-services/org.jostle.Broker1.service.in \
	    > $(DESTDIR)$(SHARE)/dbus-1/system-services/org.jostle.Broker1.service

# Besides install. In a session with a display the user's systemd starts it; without systemd the bus does, for who asks.
install-focus:
	@test -x $(PROGRAMS_DIR)/$(FOCUS) || { echo "no $(PROGRAMS_DIR)/$(FOCUS): run make build-focus first"; exit 1; }
	install -D -m 755 $(PROGRAMS_DIR)/$(FOCUS) $(DESTDIR)$(LIBEXEC)/$(FOCUS)
	for file in systemd/user/$(FOCUS).service:$(USER_UNITS)/$(FOCUS).service \
	    dbus/services/org.jostle.Focus1.service:$(SHARE)/dbus-1/services/org.jostle.Focus1.service; do \
	    $(INSTALL) /dev/null $(DESTDIR)$${file#*:} && \
	    sed -e 's|@libexecdir@|$(LIBEXEC)|' $${file%%:*}.in > $(DESTDIR)$${file#*:} || exit 1; \
	done
	for file in metadata.json extension.js; do \
	    $(INSTALL) Sources/jostle-focus/gnome/$$file $(DESTDIR)$(GNOME_EXTENSION)/$$file || exit 1; \
	done
	@if test -e $(MANUAL_DIR)/man8/$(FOCUS).8; then \
	    $(INSTALL) $(MANUAL_DIR)/man8/$(FOCUS).8 $(DESTDIR)$(SHARE)/man/man8/$(FOCUS).8; \
	fi

# Besides install. Nothing is started that is not enabled: without a configuration there is nothing to do.
install-bridge:
	@test -x $(PROGRAMS_DIR)/$(BRIDGE) || { echo "no $(PROGRAMS_DIR)/$(BRIDGE): run make build-bridge first"; exit 1; }
	install -D -m 755 $(PROGRAMS_DIR)/$(BRIDGE) $(DESTDIR)$(LIBEXEC)/$(BRIDGE)
	for unit in $(SYSTEM_UNITS)/$(BRIDGE).service $(USER_UNITS)/$(BRIDGE).service; do \
	    folder=$${unit%/*} && $(INSTALL) /dev/null $(DESTDIR)$$unit && \
	    sed -e 's|@libexecdir@|$(LIBEXEC)|' -e 's|@user@|$(SERVICE_USER)|' systemd/$${folder##*/}/$(BRIDGE).service.in \
	        > $(DESTDIR)$$unit || exit 1; \
	done
	$(INSTALL) policies/bridge/40-bridge.conf $(DESTDIR)$(POLICY)/40-bridge.conf
	@if test -e $(MANUAL_DIR)/man8/$(BRIDGE).8; then \
	    $(INSTALL) $(MANUAL_DIR)/man8/$(BRIDGE).8 $(DESTDIR)$(SHARE)/man/man8/$(BRIDGE).8; \
	fi

# Besides install, or alone: the operator's machine needs nothing else. Its pages are made where `make manual` finds it beside jostle.
install-fleet:
	@test -x $(PROGRAMS_DIR)/$(FLEET) || { echo "no $(PROGRAMS_DIR)/$(FLEET): run make build-fleet first"; exit 1; }
	install -D -m 755 $(PROGRAMS_DIR)/$(FLEET) $(DESTDIR)$(BIN)/$(FLEET)
	$(INSTALL) Sources/completions/jostle.bash $(DESTDIR)$(SHARE)/bash-completion/completions/$(FLEET)
	@for page in $$(cd $(MANUAL_DIR) 2>/dev/null && ls man1/$(FLEET)*.1 2>/dev/null); do \
	    $(INSTALL) $(MANUAL_DIR)/$$page $(DESTDIR)$(SHARE)/man/$$page || exit 1; \
	done

# Besides install, before or after it. Whichever of its two names is called first, the bus starts the same program, by its unit where there is
# systemd; and udev does where there is a sensor, because desktops call nobody who is not there.
install-sensor-proxy:
	$(INSTALL) udev/61-jostle-sensor-proxy.rules $(DESTDIR)$(UDEV)/rules.d/61-jostle-sensor-proxy.rules
	$(INSTALL) /dev/null $(DESTDIR)$(SENSOR_PROXY_UNIT)
	sed -e 's|@libexecdir@|$(LIBEXEC)|' systemd/system/jostle-sensord.service.d/sensor-proxy.conf.in \
	    > $(DESTDIR)$(SENSOR_PROXY_UNIT)
	install -d $(DESTDIR)$(SHARE)/dbus-1/system-services
	for name in org.jostle.Sensors1 net.hadess.SensorProxy; do \
	    sed -e 's|@libexecdir@|$(LIBEXEC)|' -e 's|@user@|$(SERVICE_USER)|' -e "s|^Name=.*|Name=$$name|" \
	        dbus/system-services/net.hadess.SensorProxy.service.in \
	        > $(DESTDIR)$(SHARE)/dbus-1/system-services/$$name.service && \
	    chmod 644 $(DESTDIR)$(SHARE)/dbus-1/system-services/$$name.service || exit 1; \
	done
	$(INSTALL) /dev/null $(DESTDIR)$(POLKIT_ACTIONS)/net.hadess.SensorProxy.policy
	sed -e 's|@user@|$(SERVICE_USER)|' dbus/net.hadess.SensorProxy.policy.in \
	    > $(DESTDIR)$(POLKIT_ACTIONS)/net.hadess.SensorProxy.policy

# Debian packages, in .build/deb: built in a copy, so that nothing of debhelper's stays here.
DEB = $(CURDIR)/.build/deb

deb: deps-deb
	@test "$$(dpkg-parsechangelog -S Version)" = "$(VERSION)" || \
	    { echo "debian/changelog has no entry for $(VERSION), which Sources/Motion/Version.swift says"; exit 1; }
	rm -rf $(DEB)/jostle
	mkdir -p $(DEB)/jostle
	tar -c --exclude=./.build --exclude=./.git --exclude=__pycache__ . | tar -x -C $(DEB)/jostle
	cd $(DEB)/jostle && SCRATCH=$(DEB)/scratch dpkg-buildpackage -us -uc -b
	lintian --fail-on error,warning $(DEB)/jostle_$(VERSION)_*.changes

# Builds the packages a second time, from nothing and at the same place, and compares them with those of `make deb`.
test-reproducible: deb
	rm -rf $(DEB)/first $(DEB)/scratch
	mkdir $(DEB)/first
	mv $(DEB)/*_$(VERSION)_*.deb $(DEB)/first
	@$(MAKE) --no-print-directory deb
	@for package in $(DEB)/first/*.deb; do cmp $$package $(DEB)/$${package##*/} || exit 1; done; echo 'byte for byte the same'

# Installs, upgrades, removes and purges the packages of `make deb` in a Debian of their own; needs root.
test-package: deps-package
	Tests/Scripts/packages.py $(DEB)

clean:
	rm -rf .build

# What ships must pass its own check, and every example too.
lint-policy: build-all
	$(TESTED)/release/jostle policy check --strict policies
	$(TESTED)/release/jostle policy check --strict policies policies/bridge
	mkdir -p .build/local
	# What a package leaves to be uncommented.
	sed -nE 's/^# (\[.*\]|[A-Za-z]+=.*)$$/\1/p' debian/50-local.conf > .build/local/50-local.conf
	test -s .build/local/50-local.conf
	$(TESTED)/release/jostle policy check --strict policies .build/local
	@for example in policies/examples/*/; do $(TESTED)/release/jostle policy check $$example || exit 1; done

# Each page can be made of the programs as they are, and is good roff.
lint-manual: build-all
	Sources/manual/make-manual $(TESTED)/release

# Feeds made-up bytes to everything that reads what others wrote; FUZZ_SECONDS for each.
FUZZ_SECONDS ?= 60
FUZZ = .build/fuzz/jostle-fuzz

fuzz:
	JOSTLE_FUZZ=1 $(SWIFT) build -c release -Xswiftc -sanitize=fuzzer,address --product JostleFuzz \
	    --scratch-path .build/fuzz
	$(SWIFT)c -sanitize=fuzzer,address -static-stdlib -o $(FUZZ) -Xlinker --whole-archive \
	    .build/fuzz/release/libJostleFuzz.a -Xlinker --no-whole-archive -ldbus-1 -lsqlite3 -lgps -ludev -levdev -lm
	@for corpus in Tests/Corpora/*; do \
	    target=$$(basename $$corpus); \
	    mkdir -p .build/fuzz/found/$$target; \
	    echo "== fuzzing $$target for $(FUZZ_SECONDS) s"; \
	    FUZZ_TARGET=$$target ASAN_OPTIONS=symbolize=0:detect_leaks=0 SWIFT_BACKTRACE=enable=no \
	        $(FUZZ) -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -timeout=5 -verbosity=0 \
	        -artifact_prefix=.build/fuzz/$$target- .build/fuzz/found/$$target $$corpus || exit 1; \
	done; echo 'nothing crashed'

# Goes around what is in the corpora, and what make fuzz has found, for so many seconds of each target, without its looking.
NEAR_SECONDS ?= 60
NEAR_SEED ?=

fuzz-near: build-all
	@mkdir -p .build/fuzz/found
	JOSTLE_NEAR_SECONDS=$(NEAR_SECONDS) JOSTLE_NEAR_FOUND=$(CURDIR)/.build/fuzz/found JOSTLE_NEAR_SEED=$(NEAR_SEED) \
	    $(TEST) --filter 'whatIsNearWhatWasFoundIsRead'
