#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "cli/checked_pipeline.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "forebay/diagnosis.h"
#include "study/report/pages.h"

namespace forebay {
namespace {

struct DiagnoseFlags {
  std::string pipeline, output, report;
  double step_ms = 0;
  int64_t apply = 0;
  bool json = false, verify = false;
};

std::function<void()> trainer_of(double step_ms, std::stop_token stop) {
  if (step_ms <= 0) return {};
  // Sleeps rather than spins, because a trainer on a GPU leaves the cores to the loader.
  return [step = std::chrono::duration<double, std::milli>(step_ms), stop = std::move(stop)] {
    Mutex mutex;
    Lock lock(mutex);
    StoppableCondVar().wait_for(lock, stop, step, [] { return false; });
  };
}

/// Writes the pipeline with the chosen change, if it has JSON.
Status apply(const Diagnosis& diagnosis, const DiagnoseFlags& flags, const Console& console) {
  const auto count = static_cast<int64_t>(diagnosis.remedies.size());
  if (flags.apply > count)
    return invalid_argument(fmt::format("--apply {}: there {} {} to apply", flags.apply, count == 1 ? "is" : "are",
                                        count == 1 ? "one change" : fmt::format("{} changes", count)));
  const Remedy& remedy = diagnosis.remedies[static_cast<size_t>(flags.apply) - 1];
  FOREBAY_ASSIGN(const std::string text, remedy.pipeline.to_json());
  FOREBAY_RETURN_IF_ERROR(write_file(flags.output, text + "\n"));
  fmt::print(console.err, "wrote {} with: {}{}\n", flags.output, remedy.change,
             remedy.bytes > 0 ? "" : " (an option of the loader: give it there)");
  return {};
}

void add_options(CommandLine& line, DiagnoseFlags& flags) {
  line.app().add_option("pipeline", flags.pipeline, "a pipeline as JSON; - is standard input")->required();
  line.app()
      .add_option("--step", flags.step_ms,
                  "time of the trainer for a batch, in milliseconds; 0: batches are taken at once")
      ->check(CLI::Range(0.0, 3.6e6))
      ->capture_default_str();
  CLI::Option* apply_option =
      line.add_number("--apply", flags.apply, 1, 100, "write the pipeline with change N of the report");
  line.app()
      .add_option("--output", flags.output, "file for the pipeline of --apply")
      ->type_name("FILE")
      ->needs(apply_option);
  line.app().add_flag("--verify", flags.verify, "make the first change, and measure its gain again over all samples");
  line.app()
      .add_option("--report", flags.report, "write the result to this file, as one HTML page")
      ->type_name("FILE.html");
}

}  // namespace

int diagnose_verb(const Arguments& arguments, const Console& console) {
  CommandLine line("diagnose", "Finds the limit of a pipeline, tries changes, and measures the gain of each.");
  DiagnoseFlags flags;
  add_options(line, flags);
  const LoaderFlags loader(line, LoaderFlags::Which::kAll);
  if (const auto code = line.parse(arguments, console)) return *code;
  flags.json = line.json();
  if (flags.apply > 0 && flags.output.empty())
    return line.misuse("was asked to --apply a change, but not where; give --output FILE", console);

  const CheckedPipeline checked = read_checked_pipeline(flags.pipeline, flags.json, console);
  if (!checked.pipeline) return checked.exit_code;

  if (!flags.report.empty()) {
    // Checked before minutes of measuring, not after.
    if (Status writable = check_writable(flags.report); !writable.ok())
      return report_failure(writable, flags.json, console);
  }
  const Interrupt interrupt;
  DiagnoseOptions options{.loader = loader.options(), .step = trainer_of(flags.step_ms, interrupt.token())};
  options.stop = interrupt.token();
  options.verify = flags.verify;
  const Result<Diagnosis> diagnosis = diagnose(*checked.pipeline, options);
  if (!diagnosis.ok()) return report_failure(diagnosis.status(), flags.json, console);
  if (flags.json)
    print_json(SortedJson::parse(to_json(*diagnosis)), console);
  else
    fmt::print(console.out, "{}", to_text(*diagnosis));
  if (!flags.report.empty()) {
    const Status written = write_file(flags.report, to_html(diagnosis_page(*diagnosis, file_name(flags.pipeline))));
    if (!written.ok()) return report_failure(written, flags.json, console);
  }
  if (flags.apply == 0) return kDone;
  const Status applied = apply(*diagnosis, flags, console);
  return applied.ok() ? kDone : report_failure(applied, flags.json, console);
}

}  // namespace forebay
