#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "forebay/simulation.h"
#include "study/rate_text.h"
#include "study/report/pages.h"

namespace forebay {
namespace {

struct SimulateFlags {
  std::string pipeline, report;
  std::string storage_rate = "1GB/s", link = "10Gbit/s", disk_rate;
  std::optional<uint64_t> ram, disk, sample_bytes;
  SimulationOptions with;
};

class Stopped : public std::exception {};

void add_flags(CommandLine& line, SimulateFlags& flags) {
  CLI::App& app = line.app();
  SimulationOptions& with = flags.with;
  constexpr int64_t kMany = int64_t{1} << 50;
  app.add_option("pipeline", flags.pipeline,
                 "a pipeline as JSON; without it give --samples, --sample-bytes and --batch");
  line.add_number("--hosts", with.hosts, 1, 1 << 20, "number of hosts")->required();
  line.add_number("--ranks-per-host", with.ranks_per_host, 1, 1 << 20, "learners on each host")->capture_default_str();
  app.add_option("--storage-rate", flags.storage_rate,
                 "rate of storage for all hosts together, such as 2GB/s; 0: no limit")
      ->capture_default_str();
  app.add_option("--storage-latency", with.storage.latency_seconds, "latency of storage, in seconds");
  app.add_option("--storage-requests", with.storage.requests_per_second, "limit of storage, in requests a second");
  line.add_number("--storage-knee", with.storage.knee, 0, kMany,
                  "requests in flight that storage needs to reach its rate");
  app.add_option("--link", flags.link, "rate of a host's link in each direction, such as 10Gbit/s; 0: no limit")
      ->capture_default_str();
  app.add_option("--link-latency", with.link_latency_seconds, "latency between hosts, in seconds");
  line.add_bytes("--ram", flags.ram, "memory of a host for cached samples, such as 40GiB");
  line.add_bytes("--disk", flags.disk, "disk of a host for cached samples");
  app.add_option("--disk-rate", flags.disk_rate, "rate of a host's disk, such as 1GB/s; default: no limit");
  app.add_option("--prepare", with.prepare_per_second, "samples a second that a host prepares; default: no limit");
  app.add_option("--train", with.train_per_second, "samples a second that a learner takes; default: no limit");
  line.add_number("--requests", with.requests, 1, 1 << 20, "requests in flight of a host")->capture_default_str();
  line.add_number("--samples", with.samples, 1, kMany, "number of samples; default: those of the data set");
  line.add_bytes("--sample-bytes", flags.sample_bytes, "mean size of a sample; default: that of the data set");
  app.add_option("--spread", with.spread, "with --sample-bytes: standard deviation of the logarithm of the sizes")
      ->capture_default_str();
  line.add_number("--batch", with.batch_size, 1, 1 << 30,
                  "rows of a learner in a step; default: those of the pipeline");
  line.add_number("--epochs", with.epochs, 2, 1000, "number of epochs")->capture_default_str();
  line.add_seed(with.seed, "seed of the order");
  app.add_option("--report", flags.report, "write the result to this file, as one HTML page")->type_name("FILE.html");
}

Status complete_flags(SimulateFlags& flags) {
  const auto rate = [](const char* name, const std::string& text, double& out) -> Status {
    if (text.empty()) return {};
    const std::optional<double> value = parse_rate(text);
    if (!value) return invalid_argument(fmt::format("{} is '{}'; give a rate such as 2GB/s or 10Gbit/s", name, text));
    out = *value;
    return {};
  };
  FOREBAY_RETURN_IF_ERROR(rate("--storage-rate", flags.storage_rate, flags.with.storage.bytes_per_second));
  FOREBAY_RETURN_IF_ERROR(rate("--link", flags.link, flags.with.link_bytes_per_second));
  FOREBAY_RETURN_IF_ERROR(rate("--disk-rate", flags.disk_rate, flags.with.disk_bytes_per_second));
  flags.with.ram_bytes = flags.ram.value_or(0);
  flags.with.disk_bytes = flags.disk.value_or(0);
  if (flags.sample_bytes) flags.with.sample_bytes = static_cast<double>(*flags.sample_bytes);
  if (!flags.report.empty()) FOREBAY_RETURN_IF_ERROR(check_writable(flags.report));
  return {};
}

Result<Simulation> run_simulation(SimulateFlags& flags, std::stop_token stop) {
  std::optional<Pipeline> pipeline;
  if (!flags.pipeline.empty()) {
    FOREBAY_ASSIGN(const std::string text, read_text(flags.pipeline));
    FOREBAY_ASSIGN(pipeline, read_pipeline(flags.pipeline, text));
  }
  flags.with.poll = [stop] {
    // simulate() has no stop token, so an exception is the only way to end it early.
    if (stop.stop_requested()) throw Stopped();
  };
  try {
    return simulate(pipeline, flags.with);
  } catch (const Stopped&) {
    return cancelled("interrupted");
  }
}

}  // namespace

int simulate_verb(const Arguments& arguments, const Console& console) {
  CommandLine line(
      "simulate",
      "Predicts the speed of a pipeline on many hosts, in virtual time. It needs no hosts; data are read only "
      "if their values decide which samples come when.");
  SimulateFlags flags;
  add_flags(line, flags);
  if (const auto code = line.parse(arguments, console)) return *code;
  if (Status fit = complete_flags(flags); !fit.ok()) return report_failure(fit, line.json(), console);
  const Interrupt interrupt;
  const Result<Simulation> found = run_simulation(flags, interrupt.token());
  if (!found.ok()) return report_failure(found.status(), line.json(), console);
  if (line.json())
    print_json(SortedJson::parse(to_json(*found)), console);
  else
    fmt::print(console.out, "{}", to_text(*found));
  if (flags.report.empty()) return kDone;
  const std::string subject = flags.pipeline.empty() ? "sizes given" : file_name(flags.pipeline);
  const Status written = write_file(flags.report, to_html(simulation_page(*found, subject)));
  return written.ok() ? kDone : report_failure(written, line.json(), console);
}

}  // namespace forebay
