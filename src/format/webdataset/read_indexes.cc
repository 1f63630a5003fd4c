#include "format/webdataset/read_indexes.h"
#include "format/webdataset/sample_grouper.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/mutex.h"
#include "base/sniff.h"
#include "format/files/reading_jobs.h"
#include "format/webdataset/tar_index_files.h"
#include "format/webdataset/tar_walker.h"

namespace forebay {

namespace {

// From a local file only headers are read. A remote request takes as long as reading some
// megabytes, so samples of the usual size are read in full.
constexpr uint64_t kLocalWindowBytes = 16 << 10;
constexpr uint64_t kRemoteWindowBytes = 4 << 20;
constexpr uint64_t kSmallWindowBytes = 64 << 10;
constexpr uint64_t kLargeGapBytes = 1 << 20;
constexpr size_t kShardsNamed = 10;

struct ShardRun {
  ShardRun(DataFiles& found, const ShardIndexOptions& options)
      : files(found), split(options.split), kept(saved_indexes(options)), indexes(found.files.size()) {}

  DataFiles& files;
  const NameSplit split;
  const TarIndexFiles kept;
  std::vector<TarIndex> indexes;
  Mutex bad_mutex;
  std::map<size_t, Status> bad FOREBAY_GUARDED_BY(bad_mutex);
};

/// Indexes one shard: asks for its size, then reads its headers from the first to the last.
class ShardJob final : public ReadingJob {
 public:
  ShardJob(ShardRun& run, size_t file) : run_(run), file_(file), entry_(run.files.files[file]), grouper_(run.split) {}

  Result<NextReads> step(JobInput input) override {
    if (!input.status.ok()) return record_error(input.status);
    if (input.info) {
      entry_.size = input.info->size;
      entry_.version = input.info->version;
    }
    if (!entry_.size) return NextReads{{}, entry_.key};
    if (!walker_) {
      if (auto kept = run_.kept.load(index_identity())) return done(std::move(*kept));
      walker_.emplace(0, *entry_.size);
    }
    if (!input.buffers.empty()) window_ = std::move(input.buffers.front());
    return walk();
  }

 private:
  TarIndexFiles::Shard index_identity() const { return {name(), *entry_.size, entry_.version}; }

  Result<NextReads> walk() {
    TarMember member;
    while (true) {
      const Result<TarWalker::Step> step = walker_->next({window_at_, window_.span()}, member);
      // The window is shorter than a header, so nothing has been read that tells what the file is.
      if (!step.ok() && window_.span().empty() && *entry_.size > 0)
        return NextReads{{{entry_.key, ByteRange{0, *entry_.size}, entry_.size, {}}}, {}};
      if (!step.ok()) return record_error(named(step.status()));
      if (*step == TarWalker::Step::kNeedsMore) return NextReads{{next_window()}, {}};
      if (*step == TarWalker::Step::kEnd) {
        if (resolving_links_ || !grouper_.has_links()) return finish();
        resolving_links_ = true;
        walker_.emplace(0, *entry_.size);
        continue;
      }
      if (resolving_links_) {
        grouper_.record_member(member);
        continue;
      }
      if (const Status added = grouper_.add(member); !added.ok()) return record_error(added);
    }
  }

  ReadRequest next_window() {
    const ByteRange needed = walker_->needed();
    const uint64_t gap = needed.offset - std::min(needed.offset, window_at_ + window_.size());
    const uint64_t usual = !run_.files.store->remote() ? kLocalWindowBytes
                           : gap > kLargeGapBytes      ? kSmallWindowBytes
                                                       : kRemoteWindowBytes;
    // The gap holds file data, which an index does not need, so it is skipped.
    window_at_ = needed.offset;
    const uint64_t length = std::min(std::max(needed.length, usual), *entry_.size - window_at_);
    return {entry_.key, ByteRange{window_at_, length}, entry_.size, {}};
  }

  Result<NextReads> finish() {
    TarIndex index = std::move(grouper_).take(walker_->trailing_bytes());
    run_.kept.save(index_identity(), index);
    return done(std::move(index));
  }

  Result<NextReads> done(TarIndex index) {
    run_.indexes[file_] = std::move(index);
    return NextReads();
  }

  /// If the file is not a tar, names its actual kind.
  Status named(const Status& status) const {
    if (window_at_ != 0 || walker_->at() != 0 || window_.span().empty()) return status;
    const Sniffed found = sniff(window_.span(), entry_.size);
    if (found.family == FileFamily::kCompressed) {
      return unsupported(fmt::format(
          "{}: in a compressed tar no sample can be found without reading all before it. Unpack it once (gunzip, zstd "
          "-d) and give the .tar",
          found.name));
    }
    const bool is_known = found.kind != FileKind::kUnknown && found.family != FileFamily::kNothing;
    return is_known && found.kind != FileKind::kTar ? wrong_file("a tar", window_.span(), entry_.size) : status;
  }

  /// An error in this shard ends no other job, so that all errors are reported together.
  Result<NextReads> record_error(const Status& status) {
    if (!is_data_error(status.code())) return Status(status).with_key(name());
    const Lock lock(run_.bad_mutex);
    run_.bad.emplace(file_, status);
    return NextReads();
  }

  std::string name() const { return run_.files.store->display_name(entry_.key); }

  ShardRun& run_;
  const size_t file_;
  DataFile& entry_;
  std::optional<TarWalker> walker_;
  SampleGrouper grouper_;
  bool resolving_links_ = false;  // the second pass, which resolves links
  Buffer window_;
  uint64_t window_at_ = 0;
};

Status bad_shards(const ShardRun& run) FOREBAY_REQUIRES(run.bad_mutex) {
  const auto& [file, first] = *run.bad.begin();
  const auto name = [&](size_t i) { return run.files.store->display_name(run.files.files[i].key); };
  constexpr std::string_view kWayOut = "restore it, or leave it out by a narrower pattern or a list of the others";
  if (run.bad.size() == 1) {
    // These errors carry their own remedy.
    const bool has_own = first.code() == Code::kUnsupported || first.code() == Code::kNotFound;
    Status one(first.code(), has_own ? first.message() : fmt::format("{}; {}", first.message(), kWayOut));
    if (first.range()) one = std::move(one).with_range(*first.range());
    return std::move(one).with_key(name(file));
  }
  std::string text = fmt::format("{} of {} shards cannot be read:", run.bad.size(), run.files.files.size());
  size_t named = 0;
  for (const auto& [i, status] : run.bad) {
    if (named++ == kShardsNamed) break;
    text += fmt::format("\n  {}: {}", name(i), status.message());
  }
  if (run.bad.size() > kShardsNamed) text += fmt::format("\n  and {} more", run.bad.size() - kShardsNamed);
  return Status(first.code(),
                fmt::format("{}\nRestore them, or leave them out by a narrower pattern or a list of the others", text));
}

}  // namespace

Result<std::vector<TarIndex>> read_shard_indexes(DataFiles& files, const ShardIndexOptions& options,
                                                 std::stop_token stop) {
  ShardRun run(files, options);
  ReadingJobsOptions jobs;
  jobs.bytes = [&](size_t) { return files.store->remote() ? kRemoteWindowBytes : kLocalWindowBytes; };
  FOREBAY_RETURN_IF_ERROR(run_reading_jobs(
      *files.store, files.files.size(), [&](size_t file) { return std::make_unique<ShardJob>(run, file); }, jobs,
      std::move(stop)));
  if (!options.kept.empty()) run.kept.remove_oldest();
  run.kept.log_problems();
  const Lock lock(run.bad_mutex);
  if (!run.bad.empty()) return bad_shards(run);
  return std::move(run.indexes);
}

}  // namespace forebay
