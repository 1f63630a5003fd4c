#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/clock.h"
#include "cli/checked_pipeline.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "cli/process_memory.h"
#include "forebay/ledger.h"
#include "runtime/host.h"

namespace forebay {
namespace {

/// One epoch of one round.
struct MeasuredEpoch {
  int64_t samples = 0;
  double seconds = 0, cpu_seconds = 0, wait_seconds = 0;
};

struct Figures {
  double median = 0, low = 0, high = 0;
};

struct Measured {
  std::vector<MeasuredEpoch> first, later;  ///< first epochs of the rounds, and all later ones
  Ledger ledger;                            ///< counters of the last round
};

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

template <typename F>
Figures figures_of(const std::vector<MeasuredEpoch>& epochs, F figure) {
  std::vector<double> values;
  for (const MeasuredEpoch& epoch : epochs) values.push_back(figure(epoch));
  // A single round of a single epoch has no later ones.
  if (values.empty()) return {};
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  // The median, because a single round in which the machine was busy would move the mean.
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

Figures rate_of(const std::vector<MeasuredEpoch>& epochs) {
  return figures_of(epochs,
                    [](const MeasuredEpoch& e) { return static_cast<double>(e.samples) / std::max(e.seconds, 1e-9); });
}
Figures cpu_of(const std::vector<MeasuredEpoch>& epochs) {
  return figures_of(epochs, [](const MeasuredEpoch& e) {
    return e.cpu_seconds * 1e6 / static_cast<double>(std::max<int64_t>(e.samples, 1));
  });
}
Figures wait_share_of(const std::vector<MeasuredEpoch>& epochs) {
  return figures_of(epochs, [](const MeasuredEpoch& e) { return e.wait_seconds / std::max(e.seconds, 1e-9); });
}

Result<MeasuredEpoch> measure_epoch(Loader& loader, const std::stop_token& stop) {
  MeasuredEpoch epoch;
  const double waited = loader.stats().consumer_wait_seconds, cpu = cpu_seconds();
  const int64_t began_ns = monotonic_ns();
  while (true) {
    if (stop.stop_requested()) return cancelled("interrupted");
    auto next = loader.next();
    // The stop closes the loader, whose own error is less clear than this one.
    if (stop.stop_requested()) return cancelled("interrupted");
    FOREBAY_ASSIGN(const std::optional<Batch> batch, std::move(next));
    if (!batch) break;
    epoch.samples += batch->size() - batch->padding;
  }
  epoch.seconds = static_cast<double>(monotonic_ns() - began_ns) * 1e-9;
  epoch.cpu_seconds = cpu_seconds() - cpu;
  epoch.wait_seconds = loader.stats().consumer_wait_seconds - waited;
  return epoch;
}

/// Each round has a loader of its own.
Status measure_round(const Pipeline& pipeline, LoaderOptions options, std::stop_token stop, Measured& measured) {
  options.stop = stop;
  FOREBAY_ASSIGN(const std::unique_ptr<Loader> loader, Loader::open(pipeline, options));
  const std::stop_callback closing(stop, [&] { loader->close(); });
  for (int64_t number = 0; number < *options.epochs; ++number) {
    FOREBAY_ASSIGN(const MeasuredEpoch epoch, measure_epoch(*loader, stop));
    (number == 0 ? measured.first : measured.later).push_back(epoch);
  }
  measured.ledger = loader->stats();
  loader->close();
  return {};
}

SortedJson to_json(const Figures& figures) {
  return {{"high", figures.high}, {"low", figures.low}, {"median", figures.median}};
}

SortedJson to_json(const std::vector<MeasuredEpoch>& epochs) {
  if (epochs.empty()) return nullptr;
  return {{"cpu_us_per_sample", to_json(cpu_of(epochs))},
          {"epochs", epochs.size()},
          {"samples", epochs.front().samples},
          {"samples_per_second", to_json(rate_of(epochs))},
          {"wait_share", to_json(wait_share_of(epochs))}};
}

void print_epochs(const char* name, const std::vector<MeasuredEpoch>& epochs, const Console& console) {
  if (epochs.empty()) return;
  const Figures rate = rate_of(epochs), cpu = cpu_of(epochs), wait = wait_share_of(epochs);
  fmt::print(console.out,
             "{:<13} {:.0f} samples a second ({:.0f}–{:.0f}), CPU {:.0f} µs a sample ({:.0f}–{:.0f}), "
             "{:.0f} % of the time waited for\n",
             name, rate.median, rate.low, rate.high, cpu.median, cpu.low, cpu.high, 100 * wait.median);
}

void print(const Measured& measured, int rounds, bool json, const Console& console) {
  const Ledger& ledger = measured.ledger;
  if (json)
    return print_json(
        {{"cores", usable_cores()},
         {"first_epochs", to_json(measured.first)},
         {"later_epochs", to_json(measured.later)},
         {"process_peak_bytes", peak_resident_bytes()},
         {"rounds", rounds},
         {"settings",
          {{"memory_bytes", ledger.memory_budget}, {"requests", ledger.requests}, {"threads", ledger.threads}}}},
        console);
  fmt::print(console.out, "{} samples an epoch, {} round{}; the median, with the least and the greatest in brackets\n",
             measured.first.front().samples, rounds, rounds == 1 ? "" : "s");
  print_epochs("first epochs:", measured.first, console);
  print_epochs("later epochs:", measured.later, console);
  fmt::print(console.out, "peak memory {}, budget {}, threads {}, usable cores {}\n",
             format_byte_size(peak_resident_bytes()), format_byte_size(ledger.memory_budget), ledger.threads,
             usable_cores());
}

// The other loaders are Python, so the comparison is part of the package. This process executes it.
constexpr const char* kCompare = R"(import sys
try:
    from forebay._bench.__main__ import main
except ImportError as error:
    sys.exit(f"forebay: {sys.executable} cannot import forebay._bench ({error}); set FOREBAY_PYTHON to a Python that has forebay and the rivals")
sys.exit(main(sys.argv[1:]))
)";

int compare(const Arguments& arguments, const Console& console) {
  const char* named = std::getenv("FOREBAY_PYTHON");
  const std::string python = named && *named ? named : "python3";
  std::vector<std::string> words = {python, "-c", kCompare};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  std::fflush(console.out);
  execvp(python.c_str(), raw.data());
  fmt::print(console.err, "forebay: --against needs Python, but '{}' cannot be run ({}); {}\n", python,
             std::strerror(errno), "set FOREBAY_PYTHON to a Python that has forebay and the rivals");
  return kFailed;
}

}  // namespace

int bench_verb(const Arguments& arguments, const Console& console) {
  CommandLine line(
      "bench",
      "Measures the speed of a pipeline, with its spread, alone or beside other loaders that do the same work.");
  std::string path;
  std::vector<std::string> against;
  int rounds = 3;
  line.app().add_option("pipeline", path, "a pipeline as JSON; - is standard input")->required();
  line.app()
      .add_option(
          "--against", against,
          "other loaders, separated by commas: torch. They run in the Python of FOREBAY_PYTHON; default: python3")
      ->delimiter(',')
      ->check(CLI::IsMember({"torch"}).description(""))
      ->type_name("NAME");
  line.add_number("--rounds", rounds, 1, 100, "number of repetitions")->capture_default_str();
  const LoaderFlags flags(line, LoaderFlags::Which::kStreams);
  if (const auto code = line.parse(arguments, console)) return *code;
  if (!against.empty()) {
    for (const char* name :
         {"--on-error", "--max-errors", "--storage-option", "--requests", "--memory", "--steps-per-epoch"}) {
      if (line.app().count(name) > 0)
        return line.misuse(
            fmt::format("cannot have {} together with --against: other loaders do not have it; leave one of them out",
                        name),
            console);
    }
    return compare(arguments, console);
  }
  LoaderOptions options = flags.options();
  if (!options.epochs) options.epochs = 2;  // the first one and a later one

  const CheckedPipeline checked = read_checked_pipeline(path, line.json(), console);
  if (!checked.pipeline) return checked.exit_code;
  if (Status ends = check_epoch_end(*checked.pipeline, options); !ends.ok())
    return report_failure(ends, line.json(), console);

  const Interrupt interrupt;
  Measured measured;
  for (int round = 0; round < rounds; ++round) {
    if (Status done = measure_round(*checked.pipeline, options, interrupt.token(), measured); !done.ok())
      return report_failure(done, line.json(), console);
  }
  print(measured, rounds, line.json(), console);
  return kDone;
}

}  // namespace forebay
