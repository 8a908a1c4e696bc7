import DaemonSupport
import Glibc
import Loop
import TestSupport

/// jostle-bench: measures against the budget, always beside a baseline in the same run.
@main
struct Main {
    private static let jsonOption = CommandOption.flag("json", "print one JSON object a line for every figure")
    private static let onlyOption = CommandOption.value(
        "only", "NAME",
        "measure only this, longer, and also what has no budget: \(names(Benchmark.allCases)); without it all of them but "
            + names(Benchmark.allCases.filter { Benchmark.onlyByName.contains($0) }), repeats: true)
    private static let quickOption = CommandOption.flag("quick", "measure once and shortly, for a first look")
    private static let workloadOption = CommandOption.value(
        "workload", "DETECTORS,FEATURES,SAMPLES",
        "measure nothing: only let detectors look at samples, for a counter or a profiler outside")
    private static let functionsOption = CommandOption.flag(
        "functions",
        "measure nothing: print the broker's functions that an event needs, in the order that the linker is told")
    private static let launchedOption = CommandOption.value(
        "launched", "NAME", "measure nothing: be the app of this name that the bus starts")
    private static let syntax = CommandSyntax(
        "jostle-bench", "Measures what Jostle costs, against the budget.",
        options: [jsonOption, onlyOption, quickOption, workloadOption, functionsOption, launchedOption])

    static func main() {
        do {
            Startup.prepareProgram()
            // Four descriptors for each program that is started.
            raiseDescriptorLimit()
            let arguments = self.syntax.parseOrExit()
            if let text = arguments.value(of: self.workloadOption) {
                guard let workload = Workload(text) else {
                    throw UsageProblem("--workload takes three numbers, not '\(text)'")
                }
                try writeAll(try workload.run() + "\n", to: STDOUT_FILENO)
                ExitCode.done.exit()
            }
            if let name = arguments.value(of: self.launchedOption) {
                try LaunchedApp.run(name)
                ExitCode.done.exit()
            }
            if arguments.has(self.functionsOption) {
                if let missing = InstructionBenchmark.missing { throw Failure(missing) }
                try writeAll(try EventFunctions.run(.whole).map { "\($0)\n" }.joined(), to: STDOUT_FILENO)
                ExitCode.done.exit()
            }
            let named = arguments.values(of: self.onlyOption)
            let chosen = try named.isEmpty ? self.usual() : self.benchmarks(named)
            let isJSON = arguments.has(self.jsonOption)
            let plan = arguments.has(self.quickOption) ? Plan.quick : named.isEmpty ? .usual : .whole
            if !isJSON { try writeAll(Figure.heading + "\n", to: STDOUT_FILENO) }
            var isWithin = true
            for benchmark in chosen {
                try benchmark.run(plan) { figure in
                    if figure.passes == false { isWithin = false }
                    // Nobody to tell is no reason to stop measuring: the exit status tells it too.
                    try? writeAll((isJSON ? figure.json : figure.row) + "\n", to: STDOUT_FILENO)
                }
            }
            (isWithin ? ExitCode.done : ExitCode.no).exit()
        } catch let problem as UsageProblem {
            self.syntax.exit(with: problem)
        } catch {
            Log(program: self.syntax.name).error("\(error)")
            ExitCode.no.exit()
        }
    }

    private static func names(_ benchmarks: [Benchmark]) -> String {
        benchmarks.map(\.rawValue).joined(separator: ", ")
    }

    /// What is measured when nobody names anything.
    private static func usual() -> [Benchmark] {
        guard let missing = InstructionBenchmark.missing else { return Benchmark.usual }
        Log(program: self.syntax.name).warning("instructions are not counted: \(missing)")
        return Benchmark.usual.filter { $0 != .instructions }
    }

    private static func benchmarks(_ names: [String]) throws(UsageProblem) -> [Benchmark] {
        var chosen: [Benchmark] = []
        for name in names {
            guard let benchmark = Benchmark(rawValue: name) else {
                throw UsageProblem("there is no benchmark '\(name)'")
            }
            chosen.append(benchmark)
        }
        return chosen
    }
}
