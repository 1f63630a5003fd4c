#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/command_line.h"
#include "cli/contact_sheet.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/loader_flags.h"
#include "cli/process_memory.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "forebay/ledger.h"
#include "telemetry/step_counters.h"

namespace forebay {
namespace {

struct DemoOptions {
  std::string folder, output = "forebay-contact-sheet.png";
  int64_t batch = 64, size = 224;
  bool json = false;
  LoaderOptions loader;
};

Pipeline demo_pipeline(const DemoOptions& options) {
  return images(options.folder)
      .shuffle()
      .decode_image()
      .random_resized_crop(options.size)
      .random_flip()
      .normalize(imagenet())
      .batch(options.batch);
}

/// `forebay demo`: runs the main job on a folder, and then again with another number of threads,
/// which must not change the digest.
class Demo {
 public:
  Demo(const DemoOptions& options, const Console& console, std::stop_token stop)
      : options_(options), console_(console), stop_(stop), pipeline_(demo_pipeline(options)) {}

  Status run() {
    FOREBAY_ASSIGN(classes_, pipeline_.classes());
    const int64_t begin_ns = monotonic_ns();
    FOREBAY_ASSIGN(ranks_, Ranks::open(pipeline_, options_.loader, 1, stop_));
    introduce();
    const auto note_time = [&](const Batch&) {
      first_batch_seconds_ = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
      return Status();
    };
    while (!ranks_->finished()) {
      FOREBAY_ASSIGN(const EpochResult result, run_epoch(*ranks_, "", epochs_.empty() ? note_time : FirstBatch()));
      epochs_.push_back(result);
      print_epoch(result);
    }
    if (epochs_.empty() || epochs_[0].batches == 0) return not_found("no batch came out").with_key(options_.folder);
    threads_ = ranks_->first().stats().threads;
    budget_bytes_ = ranks_->memory_budget();
    used_bytes_ = ranks_->memory_peak();
    peak_bytes_ = peak_resident_bytes();
    ranks_.reset();
    return run_again();
  }

  void print() const {
    if (options_.json) return print_json(to_json(), console_);
    fmt::print(console_.out, "first batch   after {:.0f} ms\n", first_batch_seconds_ * 1e3);
    fmt::print(console_.out, "peak memory   {} (budget of the loader {}, of which {} were used)\n",
               format_byte_size(peak_bytes_), format_byte_size(budget_bytes_), format_byte_size(used_bytes_));
    fmt::print(console_.out, "digest        {} with {} thread{}\n", epochs_[0].digest, threads_,
               threads_ == 1 ? "" : "s");
    fmt::print(console_.out, "digest again  {} with {} thread{}: {}\n", again_.digest, other_threads(),
               other_threads() == 1 ? "" : "s", same() ? "same" : "NOT THE SAME");
    fmt::print(console_.out, "contact sheet {}\n", options_.output);
  }

  bool same() const { return again_.digest == epochs_[0].digest; }

 private:
  // Returns a number of threads that differs from that of the first run.
  int other_threads() const { return threads_ > 1 ? threads_ - 1 : threads_ + 1; }

  void introduce() const {
    if (options_.json) return;
    fmt::print(console_.out, "{} photographs in {} class{} from {}, seed {}, batches of {}\n", ranks_->first().size(),
               classes_.size(), classes_.size() == 1 ? "" : "es", options_.folder, options_.loader.seed,
               options_.batch);
    std::fflush(console_.out);
  }

  using FirstBatch = std::function<Status(const Batch&)>;

  Result<EpochResult> run_epoch(Ranks& ranks, const std::string& suffix, const FirstBatch& on_first) {
    int64_t samples = 0;
    Status status;
    Ranks::Observer observer;
    const std::string what = fmt::format("epoch {}{}", ranks.first().epoch(), suffix);
    Progress progress(console_, what, ranks.first().size(), options_.json);
    observer.batch = [&](const Batch& batch) {
      if (samples == 0 && on_first) status = on_first(batch);
      progress.update(samples += batch.size() - batch.padding);
    };
    observer.step = [&] { return status; };
    return ranks.run_epoch(observer);
  }

  Status draw_sheet(const Batch& batch) const {
    ContactSheetOptions options;
    options.classes = classes_;
    options.title = fmt::format("what the trainer sees: batch 0 of epoch 0, seed {}", options_.loader.seed);
    FOREBAY_ASSIGN(const Picture sheet, contact_sheet(batch, options));
    return write_png(options_.output, sheet);
  }

  // Draws the sheet in this run, so that it does not slow the run whose speed is reported.
  Status run_again() {
    LoaderOptions other = options_.loader;
    other.resources.threads = other_threads();
    other.epochs = 1;
    FOREBAY_ASSIGN(const std::unique_ptr<Ranks> ranks, Ranks::open(pipeline_, other, 1, stop_));
    FOREBAY_ASSIGN(again_, run_epoch(*ranks, " again", [this](const Batch& batch) { return draw_sheet(batch); }));
    return {};
  }

  void print_epoch(const EpochResult& e) const {
    if (options_.json) return;
    fmt::print(console_.out, "epoch {}       {} photographs in {:.2f} s: {:.0f} a second\n", e.epoch, e.samples,
               e.seconds, speed(e));
    std::fflush(console_.out);
  }

  static double speed(const EpochResult& e) { return static_cast<double>(e.samples) / std::max(e.seconds, 1e-9); }

  SortedJson to_json() const {
    SortedJson epochs = SortedJson::array();
    for (const EpochResult& e : epochs_) {
      epochs.push_back({{"epoch", e.epoch},
                        {"samples", e.samples},
                        {"batches", e.batches},
                        {"seconds", e.seconds},
                        {"samples_per_second", speed(e)},
                        {"digest", e.digest}});
    }
    return {
        {"again", {{"digest", again_.digest}, {"same", same()}, {"threads", other_threads()}}},
        {"classes", classes_},
        {"contact_sheet", options_.output},
        {"epochs", epochs},
        {"first_batch_seconds", first_batch_seconds_},
        {"memory", {{"budget_bytes", budget_bytes_}, {"peak_bytes", used_bytes_}, {"process_peak_bytes", peak_bytes_}}},
        {"seed", options_.loader.seed},
        {"threads", threads_}};
  }

  const DemoOptions& options_;
  const Console& console_;
  const std::stop_token stop_;
  const Pipeline pipeline_;
  std::unique_ptr<Ranks> ranks_;
  std::vector<std::string> classes_;
  std::vector<EpochResult> epochs_;
  EpochResult again_;
  double first_batch_seconds_ = 0;
  int threads_ = 0;
  uint64_t budget_bytes_ = 0, used_bytes_ = 0, peak_bytes_ = 0;
};

int without_folder(const Console& console) {
  fmt::print(
      console.err,
      "forebay: 'demo' needs a folder with one sub-folder of pictures for each class:\n"
      "\n"
      "  forebay demo FOLDER\n"
      "\n"
      "No pictures at hand? './quickstart' in a checkout of Forebay fetches free photographs and runs this on them.\n");
  return kMisuse;
}

}  // namespace

int demo_verb(const Arguments& arguments, const Console& console) {
  CommandLine line("demo",
                   "Makes batches of photographs: speed, memory, digest, and a picture of the trainer's input.");
  DemoOptions options;
  line.app().add_option("folder", options.folder, "a folder with a sub-folder of pictures for each class");
  line.add_number("--batch", options.batch, 1, 1 << 20, "photographs in a batch")->capture_default_str();
  line.add_number("--size", options.size, 1, 1 << 14, "side of the square crop, in pixels")->capture_default_str();
  line.app()
      .add_option("--output", options.output, "the contact sheet, a PNG")
      ->type_name("FILE")
      ->capture_default_str();
  const LoaderFlags flags(line, LoaderFlags::Which::kBasic);
  if (const auto code = line.parse(arguments, console)) return *code;
  if (options.folder.empty()) return without_folder(console);
  options.json = line.json();
  options.loader = flags.options();
  if (!options.loader.epochs) options.loader.epochs = 1;

  const Interrupt interrupt;
  Demo demo(options, console, interrupt.token());
  if (const Status status = demo.run(); !status.ok()) return report_failure(status, options.json, console);
  demo.print();
  return demo.same() ? kDone : kFailed;
}

}  // namespace forebay
