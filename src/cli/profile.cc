#include <string>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/checked_pipeline.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "forebay/materialize.h"
#include "forebay/profile.h"
#include "study/report/pages.h"

namespace forebay {
namespace {

struct ProfileFlags {
  std::string pipeline, apply, report, weights = "throughput", files = "materialized";
  std::optional<int64_t> samples, cores;
  std::optional<double> latency_ms;
  std::string bandwidth;
  double seconds = 60;

  bool elsewhere() const { return cores || latency_ms || !bandwidth.empty(); }
};

/// Returns the host that the flags describe.
Result<Elsewhere> elsewhere_of(const ProfileFlags& flags) {
  Elsewhere where;
  if (flags.cores) where.cores = static_cast<int>(*flags.cores);
  if (flags.latency_ms) where.latency_seconds = *flags.latency_ms * 1e-3;
  if (flags.bandwidth.empty()) return where;
  const std::optional<uint64_t> bytes = parse_byte_size(flags.bandwidth);
  if (!bytes || *bytes == 0)
    return invalid_argument(
        fmt::format("--store-bandwidth is '{}'; give bytes a second, such as 100MB", flags.bandwidth));
  where.bytes_per_second = static_cast<double>(*bytes);
  return where;
}

/// Writes the best strategy's pipeline, if it has JSON.
Status apply(const Profile& profile, const ProfileFlags& flags, const Console& console) {
  const Strategy& best = profile.strategies.front();
  FOREBAY_ASSIGN(const std::string text, best.pipeline.to_json());
  FOREBAY_RETURN_IF_ERROR(write_file(flags.apply, text + "\n"));
  fmt::print(console.err, "wrote {} with: {}{}\n", flags.apply, best.name,
             best.command.empty() ? "" : ", which are made by: " + best.command);
  return {};
}

Status write_outputs(const Profile& profile, const ProfileFlags& flags, const Console& console) {
  if (!flags.report.empty())
    FOREBAY_RETURN_IF_ERROR(write_file(flags.report, to_html(profile_page(profile, file_name(flags.pipeline)))));
  return flags.apply.empty() ? Status() : apply(profile, flags, console);
}

void add_options(CommandLine& line, ProfileFlags& flags) {
  line.app().add_option("pipeline", flags.pipeline, "a pipeline as JSON; - is standard input")->required();
  line.add_number("--samples", flags.samples, 1, INT64_MAX,
                  "number of samples to try; default: 1 in 100, and at least 1,000");
  line.app()
      .add_option("--time", flags.seconds, "stop trying after this number of seconds")
      ->check(CLI::Range(1.0, 3.6e6))
      ->capture_default_str();
  line.app()
      .add_option("--weights", flags.weights, "aim: speed; preparing time and speed; or space and speed")
      ->check(CLI::IsMember({"throughput", "deadline", "storage"}))
      ->capture_default_str();
  line.app()
      .add_option("--files", flags.files, "folder or bucket of the materialized files that the best pipeline may read")
      ->type_name("FOLDER")
      ->capture_default_str();
  line.app().add_option("--apply", flags.apply, "write the best pipeline to this file")->type_name("OUT.json");
  line.app()
      .add_option("--report", flags.report, "write the result to this file, as one HTML page")
      ->type_name("FILE.html");
  line.add_number("--cores", flags.cores, 1, 4096, "also predict the result for a host with this number of cores");
  line.app()
      .add_option("--store-latency-ms", flags.latency_ms, "also predict the result for a store with this latency")
      ->check(CLI::PositiveNumber);
  line.app().add_option("--store-bandwidth", flags.bandwidth,
                        "also predict the result for a store with this rate, in bytes a second, such as 100MB");
}

}  // namespace

int profile_verb(const Arguments& arguments, const Console& console) {
  CommandLine line(
      "profile", "Finds the steps to run once and cache, and those to run each epoch, by trying them on some samples.");
  ProfileFlags flags;
  add_options(line, flags);
  const LoaderFlags loader(line, LoaderFlags::Which::kAll);
  if (const auto code = line.parse(arguments, console)) return *code;

  const CheckedPipeline checked = read_checked_pipeline(flags.pipeline, line.json(), console);
  if (!checked.pipeline) return checked.exit_code;
  for (const std::string& file : {flags.report, flags.apply}) {
    if (file.empty()) continue;
    if (Status writable = check_writable(file); !writable.ok()) return report_failure(writable, line.json(), console);
  }

  const Interrupt interrupt;
  ProfileOptions options{.loader = loader.options(), .samples = flags.samples, .budget_seconds = flags.seconds};
  options.weights = *weights_named(flags.weights);
  options.stop = interrupt.token();
  options.files = trying_files(flags.files);
  const Result<Elsewhere> where = elsewhere_of(flags);
  if (!where.ok()) return report_failure(where.status(), line.json(), console);
  Result<Profile> found = profile(*checked.pipeline, options);
  if (found.ok() && flags.elsewhere()) {
    // The measured figures are printed before the predicted ones.
    if (!line.json()) fmt::print(console.out, "{}\n", to_text(*found));
    found = predict(*found, *where);
  }
  if (!found.ok()) return report_failure(found.status(), line.json(), console);
  if (line.json())
    print_json(SortedJson::parse(to_json(*found)), console);
  else
    fmt::print(console.out, "{}", to_text(*found));
  const Status written = write_outputs(*found, flags, console);
  return written.ok() ? kDone : report_failure(written, line.json(), console);
}

}  // namespace forebay
