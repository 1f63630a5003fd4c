#include <cstdio>
#include <memory>
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
#include "cli/ledger_text.h"
#include "cli/loader_flags.h"
#include "cli/process_memory.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "forebay/ledger.h"
#include "study/limits.h"
#include "study/observation.h"
#include "study/report/pages.h"

namespace forebay {
namespace {

struct RunOptions {
  std::string pipeline, state, resume, ids, trace, report;
  int ranks = 1;
  bool json = false, stats = false;
  LoaderOptions loader;
};

struct CloseIds {
  void operator()(FILE* file) const { std::fclose(file); }
};

/// `forebay run`: the epochs of one pipeline.
class Run {
 public:
  Run(const RunOptions& options, const Console& console) : options_(options), console_(console) {}

  Status open(const Pipeline& pipeline, std::stop_token stop) {
    FOREBAY_ASSIGN(ranks_, Ranks::open(pipeline, options_.loader, options_.ranks, stop));
    // Loads the state before opening the file of ids, because a refused state must not truncate the
    // file of an earlier run.
    if (!options_.resume.empty()) {
      FOREBAY_ASSIGN(const std::string state, read_text(options_.resume));
      if (Status loaded = ranks_->load_state(state); !loaded.ok())
        return std::move(loaded).with_key(file_name(options_.resume));
    }
    if (!options_.ids.empty()) {
      ids_.reset(std::fopen(options_.ids.c_str(), "w"));
      if (!ids_) return unavailable("cannot be written; give a path that you may write to").with_key(options_.ids);
    }
    return options_.trace.empty() ? Status() : ranks_->first().begin_trace(options_.trace);
  }

  Status run() {
    if (ranks_->finished()) {
      fmt::print(console_.err, "forebay: nothing is left to do: the saved state is the end of the last epoch\n");
    }
    while (!ranks_->finished()) {
      FOREBAY_RETURN_IF_ERROR(run_epoch());
    }
    FOREBAY_RETURN_IF_ERROR(ranks_->first().end_trace());
    return options_.report.empty() ? Status() : write_report();
  }

  void print() const {
    const std::vector<ErrorEntry> errors = ranks_->errors();
    if (options_.json) return print_json(to_json(errors), console_);
    fmt::print(console_.out, "peak memory {} (budget {}, of which {} were used), fingerprint {}\n",
               format_byte_size(peak_resident_bytes()), format_byte_size(ranks_->memory_budget()),
               format_byte_size(ranks_->memory_peak()), ranks_->first().fingerprint());
    if (options_.ranks == 1) fmt::print(console_.out, "{}", report(ranks_->first().stats()));
    for (const Ledger& ledger : stats()) fmt::print(console_.out, "{}", to_text(ledger));
    if (errors.empty()) return;
    fmt::print(console_.err, "{} bad record{}:\n", errors.size(), errors.size() == 1 ? "" : "s");
    print_errors(errors, console_);
  }

  void close() { ranks_->close(); }

 private:
  Status run_epoch() {
    int64_t samples = 0;
    Ranks::Observer observer;
    Progress progress(console_, fmt::format("epoch {}", ranks_->first().epoch()), ranks_->first().size(),
                      options_.json);
    observer.batch = [&](const Batch& batch) {
      samples += batch.size() - batch.padding;
      write_ids(batch);
    };
    observer.step = [&] {
      // Passed as a function, because it reads all counters and is needed at most ten times a
      // second.
      progress.update(samples, [&] { return limit_now(); });
      if (!options_.report.empty()) record_history();
      return save_state();
    };
    FOREBAY_ASSIGN(const EpochResult result, ranks_->run_epoch(observer));
    epochs_.push_back(result);
    if (!options_.json) print_epoch(result);
    return {};
  }

  void record_history() {
    const double now = static_cast<double>(monotonic_ns()) * 1e-9;
    // A record of every step, thousands a second, would add up to gigabytes.
    if (history_.due(now)) history_.record(now, ranks_->first().stats());
  }

  Status write_report() {
    const Ledger ledger = ranks_->first().stats();
    history_.record(static_cast<double>(monotonic_ns()) * 1e-9, ledger);
    std::string subject = file_name(options_.pipeline);
    if (options_.ranks > 1) subject += fmt::format(" (first of {} ranks)", options_.ranks);
    return write_file(options_.report, to_html(run_page(ledger, history_, subject)));
  }

  /// Returns the limit of the first rank since the last call.
  std::string limit_now() {
    Observation since;
    since.before = std::move(last_ledger_);
    since.after = last_ledger_ = ranks_->first().stats();
    return fmt::format("limit: {}", name_of(limiter_of(since, options_.loader).limit));
  }

  void print_epoch(const EpochResult& e) const {
    fmt::print(console_.out, "epoch {}: {} samples in {} batches, {:.2f} s, {:.0f} samples a second, digest {}\n",
               e.epoch, e.samples, e.batches, e.seconds, static_cast<double>(e.samples) / std::max(e.seconds, 1e-9),
               e.digest);
    // The reader of a pipe sees each epoch when it ends, not all of them at the end of the run.
    std::fflush(console_.out);
  }

  void write_ids(const Batch& batch) {
    if (!ids_) return;
    for (int64_t i = 0; i < batch.size() - batch.padding; ++i) {
      fmt::print(ids_.get(), "{}\n", batch.ids[static_cast<size_t>(i)]);
    }
  }

  /// Writes the ids first, so that after a kill the file has at least the ids that the state counts
  /// as delivered.
  Status save_state() {
    if (ids_ && (std::fflush(ids_.get()) != 0 || std::ferror(ids_.get()))) {
      return unavailable("could not be written; is the disk full?").with_key(options_.ids);
    }
    return options_.state.empty() ? Status() : write_file(options_.state, ranks_->first().state());
  }

  SortedJson to_json(const std::vector<ErrorEntry>& errors) const {
    SortedJson epochs = SortedJson::array();
    for (const EpochResult& e : epochs_) {
      epochs.push_back({{"epoch", e.epoch},
                        {"samples", e.samples},
                        {"batches", e.batches},
                        {"seconds", e.seconds},
                        {"digest", e.digest}});
    }
    const Loader& first = ranks_->first();
    SortedJson json = {{"epochs", epochs},
                       {"errors", errors_to_json(errors)},
                       {"fingerprint", first.fingerprint()},
                       {"memory",
                        {{"budget_bytes", ranks_->memory_budget()},
                         {"peak_bytes", ranks_->memory_peak()},
                         {"process_peak_bytes", peak_resident_bytes()}}},
                       {"ranks", options_.ranks},
                       {"seed", options_.loader.seed},
                       {"size", first.size()},
                       {"threads", first.stats().threads},
                       {"warnings", SortedJson::array()}};
    for (const DataWarning& warning : first.warnings()) {
      json["warnings"].push_back(
          {{"kind", warning.kind}, {"count", warning.count}, {"first", warning.first}, {"message", warning.message}});
    }
    for (const Ledger& ledger : stats()) json["stats"].push_back(SortedJson::parse(forebay::to_json(ledger)));
    return json;
  }

  std::vector<Ledger> stats() const { return options_.stats ? ranks_->stats() : std::vector<Ledger>(); }

  const RunOptions& options_;
  const Console& console_;
  std::unique_ptr<FILE, CloseIds> ids_;
  std::unique_ptr<Ranks> ranks_;
  std::vector<EpochResult> epochs_;
  Ledger last_ledger_;
  RunHistory history_;
};

void add_options(CommandLine& line, RunOptions& options) {
  line.add_number("--ranks", options.ranks, 1, 1024,
                  "number of ranks, all in this process; --threads and --memory are for each")
      ->capture_default_str();
  line.app().add_option("--state", options.state, "save the state to this file after every step")->type_name("FILE");
  line.app()
      .add_option("--resume", options.resume, "continue from this state; the digest is of the remaining samples")
      ->type_name("FILE");
  line.app()
      .add_option("--ids", options.ids, "write the ids of the samples to this file, one a line, in global order")
      ->type_name("FILE");
  line.app().add_flag("--stats", options.stats, "print the counters of each rank at the end (docs/reference/stats.md)");
  line.app()
      .add_option("--trace", options.trace,
                  "write a trace of the first rank to this file, for ui.perfetto.dev; at most 100 MB")
      ->type_name("FILE");
  line.app()
      .add_option("--report", options.report,
                  "write the waits of the first rank, and the change to make, to this file, as one HTML page")
      ->type_name("FILE.html");
}

}  // namespace

int run_verb(const Arguments& arguments, const Console& console) {
  CommandLine line("run", "Runs a pipeline, and prints speed and digest of each epoch.");
  RunOptions options;
  line.app().add_option("pipeline", options.pipeline, "a pipeline as JSON; - is standard input")->required();
  const LoaderFlags flags(line, LoaderFlags::Which::kStreams);
  add_options(line, options);
  if (const auto code = line.parse(arguments, console)) return *code;
  options.json = line.json();
  options.loader = flags.options();
  // Without a number the loader would never end.
  if (!options.loader.epochs) options.loader.epochs = 1;

  const CheckedPipeline checked = read_checked_pipeline(options.pipeline, options.json, console);
  if (!checked.pipeline) return checked.exit_code;
  if (Status ends = check_epoch_end(*checked.pipeline, options.loader); !ends.ok())
    return report_failure(ends, options.json, console);

  if (!options.report.empty()) {
    if (Status writable = check_writable(options.report); !writable.ok())
      return report_failure(writable, options.json, console);
  }
  const Interrupt interrupt;
  Run run(options, console);
  Status status = run.open(*checked.pipeline, interrupt.token());
  if (status.ok()) status = run.run();
  if (!status.ok()) return report_failure(status, options.json, console);
  run.print();
  run.close();
  return kDone;
}

}  // namespace forebay
