#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/mutex.h"
#include "cli/command_line.h"
#include "cli/inspect_report.h"
#include "cli/inspect_shards.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/storage_flags.h"
#include "format/files/open_store.h"
#include "runtime/host.h"

namespace forebay {
namespace {

/// Enough for the header of nearly every picture. For the others the whole object is read.
constexpr uint64_t kHeadBytes = 64 << 10;

struct InspectOptions {
  std::string url;
  bool json = false, decode = false, strict = false;
  int64_t max_pixels = 100'000'000;
  int threads = 0;
  std::map<std::string, std::string> storage;
};

/// Discards pixels, which are decoded only to see whether they can be.
class DiscardRows final : public RowSink {
 public:
  void row(const uint8_t*) override {}
};

/// Examines all pictures of a folder on several threads.
class Inspection {
 public:
  Inspection(const ImageFolder& folder, const InspectOptions& options, std::stop_token stop)
      : folder_(folder), options_(options), stop_(stop) {}

  Result<PictureFindings> run(Progress& progress) {
    std::vector<std::thread> others;
    for (int i = 1; i < options_.threads; ++i) others.emplace_back([this] { work(nullptr); });
    work(&progress);
    for (std::thread& thread : others) thread.join();
    if (stop_.stop_requested()) return cancelled("interrupted");
    const Lock lock(mutex_);
    return std::move(findings_);
  }

 private:
  void work(Progress* progress) {
    PictureFindings own;
    while (!stop_.stop_requested()) {
      const int64_t id = next_.fetch_add(1);
      if (id >= folder_.size()) break;
      inspect_one(id, own);
      if (progress != nullptr) progress->update(id + 1);
    }
    const Lock lock(mutex_);
    findings_.merge(std::move(own));
  }

  void inspect_one(int64_t id, PictureFindings& own) const {
    own.add_object(folder_.fetch(id).size);
    const Result<ImageInfo> info = read(id);
    if (info.ok()) return own.add_picture(*info);
    own.add_unreadable(id, info.status().with_key(folder_.key(id)));
  }

  Result<ImageInfo> read(int64_t id) const {
    const SampleSource::Fetch fetch = folder_.fetch(id);
    if (!options_.decode && fetch.size > kHeadBytes) {
      ReadRequest head = fetch.request;
      head.range = ByteRange{0, kHeadBytes};
      FOREBAY_ASSIGN(const Buffer bytes, read_wait(*fetch.store, head, stop_));
      if (auto info = probe_image(bytes.span()); info.ok()) return info;
    }
    FOREBAY_ASSIGN(const Buffer bytes, read_wait(*fetch.store, fetch.request, stop_));
    FOREBAY_ASSIGN(const ImageInfo info, probe_image(bytes.span()));
    if (options_.decode) FOREBAY_RETURN_IF_ERROR(decode(bytes, info));
    return info;
  }

  Status decode(const Buffer& bytes, const ImageInfo& info) const {
    if (info.pixels() > options_.max_pixels) {
      return unsupported(fmt::format("{} x {} pixels are more than the {} of --max-pixels", info.stored_width,
                                     info.stored_height, options_.max_pixels));
    }
    DiscardRows sink;
    return decode_rows(bytes.span(), info, {0, 0, info.stored_width, info.stored_height}, ColorMode::kRgb, sink);
  }

  const ImageFolder& folder_;
  const InspectOptions& options_;
  const std::stop_token stop_;
  std::atomic<int64_t> next_ = 0;
  Mutex mutex_;
  PictureFindings findings_ FOREBAY_GUARDED_BY(mutex_);
};

/// Opens a folder with its classes, or without them if its classes cannot be determined.
Result<std::unique_ptr<ImageFolder>> open_folder(const StoreAndPath& place, InspectReport& report,
                                                 std::stop_token stop) {
  auto folder = open_image_folder(place.store, place.path, {.split_by = "folder"}, stop);
  // These errors concern only the classes: pictures outside of class folders, a dead link that may
  // be a class, or a class without readable files.
  const Code code = folder.status().code();
  if (code != Code::kInvalidArgument && code != Code::kNotFound && code != Code::kUnsupported) return folder;
  auto unlabelled = open_image_folder(place.store, place.path, {.split_by = "none"}, stop);
  if (!unlabelled.ok()) return folder;
  report.labelled = false;
  report.why_not_labelled = folder.status().message();
  return unlabelled;
}

std::map<std::string, int64_t> count_classes(const ImageFolder& folder) {
  std::map<std::string, int64_t> counts;
  for (const std::string& name : folder.classes()) counts[name] = 0;
  for (int64_t id = 0; id < folder.size(); ++id) ++counts[folder.classes()[static_cast<size_t>(folder.label(id))]];
  return counts;
}

Result<InspectReport> inspect(const InspectOptions& options, const Console& console, std::stop_token stop) {
  InspectReport report;
  report.url = options.url;
  report.decoded = options.decode;
  FOREBAY_ASSIGN(const StoreAndPath place, open_store(options.url, options.storage));
  FOREBAY_ASSIGN(const std::unique_ptr<ImageFolder> folder, open_folder(place, report, stop));
  if (report.labelled) report.classes = count_classes(*folder);
  report.left_out = folder->report();
  const bool is_quick = folder->size() < 20'000 && !options.decode;
  Progress progress(console, "looking", folder->size(), options.json || is_quick);
  FOREBAY_ASSIGN(report.found, Inspection(*folder, options, stop).run(progress));
  return report;
}

int print_report(const auto& report, bool json, const Console& console) {
  if (json)
    print_json(report.to_json(), console);
  else
    fmt::print(console.out, "{}", report.to_text());
  return kDone;
}

int fail(const Status& status, const Interrupt& interrupt, bool json, const Console& console) {
  return report_failure(interrupt.requested() ? cancelled("interrupted") : status, json, console);
}

}  // namespace

int inspect_verb(const Arguments& arguments, const Console& console) {
  CommandLine line(
      "inspect", "Describes a folder of pictures, or tar shards: count, classes, formats, sizes, unreadable records.");
  InspectOptions options;
  options.threads = usable_cores();
  std::vector<std::string> urls;
  line.app().add_option("url", urls, "a folder of pictures; or tar shards, by a pattern or by name")->required();
  line.app().add_flag("--decode", options.decode, "decode every pixel, not only the headers");
  line.app().add_flag("--strict", options.strict, "exit with 1 if a record cannot be read");
  line.add_number("--max-pixels", options.max_pixels, 1, INT64_MAX,
                  "with --decode: larger pictures count as unreadable")
      ->capture_default_str();
  line.add_number("--threads", options.threads, 1, 4096, "number of threads")->capture_default_str();
  const StorageFlags storage(line);
  if (const auto code = line.parse(arguments, console)) return *code;
  options.json = line.json();
  options.storage = storage.options();

  const Interrupt interrupt;
  if (are_shards(urls)) {
    const auto shards = inspect_shards(urls, options.storage, interrupt.token());
    return shards.ok() ? print_report(*shards, options.json, console)
                       : fail(shards.status(), interrupt, options.json, console);
  }
  if (urls.size() > 1) return line.misuse("several folders; give one, or tar shards", console);
  options.url = urls.front();
  const Result<InspectReport> report = inspect(options, console, interrupt.token());
  if (!report.ok()) return fail(report.status(), interrupt, options.json, console);
  print_report(*report, options.json, console);
  return options.strict && report->found.unreadable_count > 0 ? kFailed : kDone;
}

}  // namespace forebay
