import DeviceCore
import Motion
import Testing

/// What the kernel's attributes say, read as it writes them and refused otherwise.
@Suite struct FormatTests {
    @Test(arguments: [
        ("42", 42), (" -7\n", -7), ("+3", 3), ("0.009806\n", 0.009806), ("1e-3", 0.001),
        ("123456789012345678", 1.23456789012345678e17),
        ("1.5\0", 1.5),
    ])
    func numbers(text: String, expected: Double) { #expect(AttributeText.number(text) == expected) }

    /// A comma would be a decimal separator in many languages, and never is the kernel's.
    @Test(arguments: ["", "\n", "0,5", "1 2", "nan", "inf", "0x10", "1e999", "banana", "-", "1.2.3", "٣"])
    func noNumbers(text: String) { #expect(AttributeText.number(text) == nil) }

    @Test(
        arguments: [
            ("12.5 25 50 100\n", [12.5, 25, 50, 100]), ("100 50 50", [50, 100]), ("", []),
            ("0 -3 10 banana 20000", [10]),
            ("[10 1 100]", [10, 20, 40, 80, 100]), ("[10 0.5 10]", [10]), ("[1 2]", []), ("[0 1 10]", []),
            ("[5 1 4]", []),
            (
                "[0.01 0.000001 10000]\n",
                [
                    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96,
                    81.92, 163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88, 10_000,
                ]
            ),
        ] as [(String, [Double])])
    func rates(text: String, expected: [Double]) { #expect(AttributeText.rates(text) == expected) }

    @Test(arguments: [
        (100.0, "100"), (12.5, "12.5"), (0.0625, "0.0625"), (1.0 / 3, "0.333333"), (-1, "0"), (1e300, "1000000000"),
    ])
    func decimals(rate: Double, expected: String) { #expect(AttributeText.decimal(rate) == expected) }

    @Test(arguments: [("(0,0)\n", 0), ("(255,12)", 100), ("(51, 102)", 40)])
    func brightness(text: String, expected: Double) {
        #expect(AttributeText.brightness(Array(text.utf8).span) == expected)
    }

    @Test(arguments: ["", "12", "(12)", "(1,2,3)", "1,2", "(1,2", "(-1,2)", "(a,b)", "(1,2)x", "(,)"])
    func noBrightness(text: String) { #expect(AttributeText.brightness(Array(text.utf8).span) == nil) }

    @Test func inputBits() {
        let switches = InputBits("10e00\n")
        #expect([9, 10, 11, 16].allSatisfy { switches?.has($0) == true })
        #expect([0, 8, 12, 31, 32, 43, 63, 64, .max].allSatisfy { switches?.has($0) == false })
        // The lowest word comes last; what stands above its first half is not looked at.
        #expect(InputBits("ffffffff 0 800000003f")?.has(5) == true)
        #expect(InputBits("ffffffff 0 800000003f")?.has(6) == false)
        for text in ["", " \n", "x", "0x10", "1 -2", "11111111111111111"] { #expect(InputBits(text) == nil, "\(text)") }
    }

    @Test func mountMatrices() {
        #expect(MountMatrix("1,0,0;0,1,0;0,0,1") == .identity)
        #expect(MountMatrix("1, 0, 0; 0, 1, 0; 0, 0, 1\n") == .identity)
        var values = [1.0, 2, 3]
        MountMatrix("0, 1, 0; -1, 0, 0; 0, 0, -1")?.turn(&values)
        #expect(values == [2, -1, -3])
        #expect(MountMatrix("0, 1, 0; -1, 0, 0; 0, 0, -1")?.keepsAxes == true)
        #expect(MountMatrix("0.7, 0.7, 0; -0.7, 0.7, 0; 0, 0, 1")?.keepsAxes == false)
    }

    @Test(arguments: [
        "", "1,0,0;0,1,0", "1,0;0,1;0,0", "1,0,0;0,1,0;0,0,x", "1,0,0;0,1,0;0,0,1;", "1,0,0;0,1,0;0,0,nan",
        "0,0,0;0,0,0;0,0,0", "1,0,0;1,0,0;0,0,1", "1,0,0;0,1e300,0;0,0,1", "1;0;0;0;1;0;0;0;1",
    ])
    func noMountMatrices(text: String) { #expect(MountMatrix(text) == nil) }

    @Test func scanFormats() {
        let le = ScanFormat("le:s12/16>>4\n")
        #expect(le?.raw([0xF0, 0x7F].span, at: 0) == 2_047)
        #expect(le?.raw([0xF0, 0xFF].span, at: 0) == -1)
        #expect(le?.raw([0x0F, 0x80].span, at: 0) == -2_048)
        #expect(le?.largest == 2_047)
        #expect(ScanFormat("be:s12/16>>4")?.raw([0xFF, 0xF0].span, at: 0) == -1)
        #expect(ScanFormat("be:u16/16>>0")?.raw([0, 0xFF, 0xFE].span, at: 1) == 65_534)
        #expect(ScanFormat("le:s64/64>>0")?.raw([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F].span, at: 0) == .max)
        #expect(ScanFormat("le:u32/32")?.raw([0xFF, 0xFF, 0xFF, 0xFF].span, at: 0) == 4_294_967_295)
        #expect(ScanFormat("le:s32/32>>0")?.largest == nil)
        #expect(ScanFormat("le:S8/8>>0")?.raw([0x80].span, at: 0) == -128)
    }

    @Test(arguments: [
        "", "s12/16", "le:12/16", "me:s12/16", "le:s12", "le:s0/16", "le:s17/16", "le:s12/16>>5", "le:s12/16>>-1",
        "le:s12/16>4", "le:s12/12", "le:s12/16X4>>0", "le:s12/16>>4>>4", "le:s99999999999999999999/16",
    ])
    func noScanFormats(text: String) { #expect(ScanFormat(text) == nil) }

    /// Channels lie in order of their index, each at a multiple of its size; the kernel pads behind them.
    @Test func scanLayout() throws {
        func element(_ index: Int, _ type: String) throws -> ScanLayout.Element {
            ScanLayout.Element(index: index, format: try #require(ScanFormat(type)))
        }
        let accelerometer = try ["le:s12/16>>4", "le:s12/16>>4", "le:s12/16>>4", "le:s64/64>>0"].enumerated().map {
            try element($0, $1)
        }
        let layout = try #require(ScanLayout(accelerometer))
        #expect(layout.size == 16)
        #expect(layout.offsets == [0, 2, 4, 8])
        let mixed = try #require(ScanLayout([try element(7, "le:s8/8"), try element(2, "be:s24/32>>8")]))
        #expect(mixed.offsets == [4, 0])
        #expect(mixed.size == 8)
        #expect(ScanLayout([try element(1, "le:s8/8"), try element(1, "le:s8/8")]) == nil)
        #expect(ScanLayout([]) == nil)
    }

    @Test func scales() throws {
        let scale = try #require(ChannelScale(scale: 0.019163, offset: 0, factor: SensorKind.accelerometer.factor))
        #expect(abs(scale.value(512) - 1.000_5) < 0.000_1)
        #expect(ChannelScale(scale: 0.5, offset: -20, factor: 1)?.value(30) == 5)
        for bad in [0, -1, .nan, .infinity, 1e9] { #expect(ChannelScale(scale: bad, factor: 1) == nil) }
        for bad in [Double.nan, .infinity, 1e308, -1e300, 0x1.1p40] {
            #expect(ChannelScale(scale: 1, offset: bad, factor: 1) == nil)
        }
        #expect(ChannelScale(scale: 1, offset: -0x1p40, factor: 1)?.value(0x1p40) == 0)
        // What the kernel calls 1 gauss is 100 uT, and 1 rad/s stays.
        #expect(SensorKind.magnetometer.factor == 100)
        #expect(SensorKind.gyroscope.factor == 1)
    }

    @Test func nearAndFar() {
        var gate = ProximityGate(level: 100)
        #expect([0, 100, 109, 111, 105, 91, 89, 105].map { gate.value($0) } == [0, 0, 0, 1, 1, 1, 0, 0])
        var plain = ProximityGate(level: 0)
        #expect([0, 1, 0].map { plain.value($0) } == [0, 1, 0])
    }

    @Test(
        arguments: [
            (nil, nil, ""), ("accel-display\n", nil, "display"), ("accel-base", nil, "base"), (nil, "base", "base"),
            ("accel-display", "base", "base"), ("", "", ""), ("proximity-wifi", nil, "wifi"), ("my lid", nil, "my lid"),
        ] as [(String?, String?, String)])
    func placements(label: String?, location: String?, expected: String) {
        #expect(Placement.word(label: label, location: location) == expected)
    }

    @Test func fifoPlans() {
        func plan(
            _ latency: Int64, _ rate: Double, _ hardware: ClosedRange<Int>? = nil, canWait: Bool = true
        ) -> FifoPlan {
            let pace = SensorPace(rate: rate, batchLatency: .milliseconds(latency))
            return FifoPlan(for: pace, rate: rate, hardware: hardware, canWait: canWait)
        }
        #expect(plan(0, 100).watermark == 1)
        #expect(plan(0, 100).latency == .zero)
        #expect(plan(100, 100).watermark == 10)
        #expect(plan(100, 100).latency == .milliseconds(100))
        #expect(plan(105, 100).latency == .milliseconds(100))
        #expect(plan(5, 100).watermark == 1)
        #expect(plan(1_000, 100, 1...32).watermark == 32)
        #expect(plan(1_000, 100, 1...32).latency == .milliseconds(320))
        #expect(plan(20, 100, 5...32).watermark == 2)
        #expect(plan(1_000, 100, canWait: false).watermark == 1)
        #expect(plan(10_000, 10_000).watermark == SensorLimits.batch)
        for plan in [plan(0, 1), plan(100, 100), plan(10_000, 10_000)] { #expect(plan.length >= 2 * plan.watermark) }
        #expect(plan(100, .nan).watermark == 1)
    }
}
