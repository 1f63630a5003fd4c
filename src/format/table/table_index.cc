#include "format/table/table_index.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/mutex.h"
#include "base/sniff.h"
#include "format/files/joined_reads.h"
#include "format/files/reading_jobs.h"

namespace forebay {

namespace {

// Most indices fit into these bytes, which take less time than a second request.
constexpr uint64_t kTailBytes = 64 << 10;
constexpr uint64_t kLargeIndexBytes = 4 << 20;
constexpr size_t kFilesNamed = 10;

struct Cache {
  Cache(const IndexOptions& options, TableReading how)
      : reading(std::move(how)),
        tables(std::make_shared<TableIndexCache>(*options.codec, reading, options.open_bytes)) {}
  const TableReading reading;
  const std::shared_ptr<TableIndexCache> tables;
};

/// State that the jobs share.
struct IndexRun {
  IndexRun(DataFiles& found, const IndexOptions& how, std::stop_token until)
      : files(found), options(how), stop(std::move(until)), cache(how, how.reading),
        masked_cache(how, masks_for_filters(how.reading.types)), opened(found.files.size()) {}

  DataFiles& files;
  const IndexOptions& options;
  const std::stop_token stop;
  const Cache cache, masked_cache;
  std::vector<OpenedTable> opened;
  Mutex large_mutex;  // large indices are read one by one, to bound the memory
  Mutex bad_mutex;
  std::map<size_t, Status> bad FOREBAY_GUARDED_BY(bad_mutex);
};

class IndexJob final : public ReadingJob {
 public:
  IndexJob(IndexRun& run, size_t file) : run_(run), file_(file), entry_(run.files.files[file]) {}

  Result<NextReads> step(JobInput input) override {
    if (!input.status.ok()) return refuse(input.status);
    if (input.info) {
      entry_.size = input.info->size;
      entry_.version = input.info->version;
    }
    if (!entry_.size) return NextReads{{}, entry_.key};
    if (*entry_.size == 0) return refuse(corrupt("the file is empty (0 bytes), so it is no table"));
    if (!asked_.empty()) return take_more(std::move(input.buffers));
    if (input.buffers.empty()) return NextReads{{tail_request(std::min(kTailBytes, *entry_.size))}, {}};
    return take_tail(std::move(input.buffers.front()));
  }

 private:
  ReadRequest tail_request(uint64_t bytes) const {
    return {entry_.key, ByteRange{*entry_.size - bytes, bytes}, entry_.size, {}};
  }

  Result<NextReads> take_tail(Buffer tail) {
    // A pointer file of Git LFS fits into the tail.
    if (Status data = check_no_pointer(tail.span(), *entry_.size); !data.ok()) return refuse(std::move(data));
    const Result<uint64_t> wanted = run_.options.codec->index_tail_bytes(tail.span(), *entry_.size);
    if (!wanted.ok()) return refuse(wanted.status());
    // Checked before the read, because a damaged tail may claim more than there is memory.
    if (*wanted > *entry_.size)
      return refuse(corrupt("its index is longer than the file; it was cut off or overwritten"));
    if (*wanted <= tail.size()) return take_index(tail.slice(tail.size() - *wanted, *wanted));
    if (*wanted <= kLargeIndexBytes) return NextReads{{tail_request(*wanted)}, {}};
    // Waits with the lock held, on purpose: this keeps a second large index out of memory.
    const Lock one_at_a_time(run_.large_mutex);
    Result<Buffer> all = read_wait(*run_.files.store, tail_request(*wanted), run_.stop);
    return all.ok() ? take_index(std::move(*all)) : refuse(all.status());
  }

  Result<NextReads> take_index(Buffer tail) {
    tail_ = std::move(tail);
    return ask_more();
  }

  Result<NextReads> take_more(std::vector<Buffer> buffers) {
    for (size_t i = 0; i < buffers.size(); ++i) pieces_.push_back({asked_[i].range->offset, std::move(buffers[i])});
    return ask_more();
  }

  Result<NextReads> ask_more() {
    const auto ranges = run_.options.codec->index_ranges(tail_.span(), *entry_.size, pieces_);
    if (!ranges.ok()) return refuse(ranges.status());
    asked_ = joined_reads(entry_.key, *entry_.size, *ranges);
    return asked_.empty() ? open() : NextReads{asked_, {}};
  }

  Result<NextReads> open() {
    const std::vector<TableFile::Piece>& pieces = pieces_;
    const auto index = std::make_shared<const StoredIndex>(tail_, pieces, *entry_.size);
    auto open = run_.options.codec->open(tail_, *entry_.size, run_.cache.reading, pieces);
    if (!open.ok()) return refuse(open.status());
    OpenedTable& opened = run_.opened[file_];
    const std::vector<std::string>& filtered = run_.options.filter_columns;
    // The filter needs masks, which the file as opened may have already.
    const bool masked = run_.cache.reading.nulls.kind == NullPolicy::Kind::kMask;
    opened.file = with_cached_index(run_.cache.tables, index, *open, masked ? filtered : std::vector<std::string>());
    if (filtered.empty()) return NextReads();
    if (masked) {
      opened.masked = opened.file;
      return NextReads();
    }
    auto again = (*open)->with_reading(run_.masked_cache.reading);
    // A codec that cannot change its null policy opens the bytes again.
    if (again.ok() && *again == nullptr)
      again = run_.options.codec->open(tail_, *entry_.size, run_.masked_cache.reading, pieces);
    if (!again.ok()) return refuse(again.status());
    opened.masked = with_cached_index(run_.masked_cache.tables, index, std::move(*again), filtered);
    return NextReads();
  }

  /// An error in this file ends no other job, so that all errors are reported together.
  Result<NextReads> refuse(const Status& status) {
    // An unavailable store or a stop ends all jobs, because the next file would fail alike.
    if (!is_data_error(status.code())) return Status(status).with_key(name());
    const Lock lock(run_.bad_mutex);
    run_.bad.emplace(file_, status);
    return NextReads();
  }

  std::string name() const { return run_.files.store->display_name(entry_.key); }

  IndexRun& run_;
  const size_t file_;
  DataFile& entry_;
  Buffer tail_;
  std::vector<ReadRequest> asked_;  ///< reads that the index needs besides its tail and the pieces
  std::vector<TableFile::Piece> pieces_;
};

Status bad_files(const IndexRun& run) FOREBAY_REQUIRES(run.bad_mutex) {
  const auto& [file, first] = *run.bad.begin();
  const auto name = [&](size_t i) { return run.files.store->display_name(run.files.files[i].key); };
  constexpr std::string_view kWayOut =
      "restore the file, or leave it out by a narrower pattern or a list of the others";
  if (run.bad.size() == 1)
    return Status(first.code(), fmt::format("{}; {}", first.message(), kWayOut)).with_key(name(file));
  std::string text = fmt::format("{} of {} files cannot be read:", run.bad.size(), run.files.files.size());
  size_t named = 0;
  for (const auto& [i, status] : run.bad) {
    if (named++ == kFilesNamed) break;
    text += fmt::format("\n  {}: {}", name(i), status.message());
  }
  if (run.bad.size() > kFilesNamed) text += fmt::format("\n  and {} more", run.bad.size() - kFilesNamed);
  return Status(first.code(),
                fmt::format("{}\nRestore them, or leave them out by a narrower pattern or a list of the others", text));
}

}  // namespace

TableReading masks_for_filters(const ColumnTypes& types) {
  NullPolicy nulls;
  nulls.kind = NullPolicy::Kind::kMask;
  nulls.mask_ending = kFilterMaskEnding;
  return {std::move(nulls), types};
}

Result<OpenedTables> read_indices(DataFiles& files, const IndexOptions& options, std::stop_token stop) {
  IndexRun run(files, options, stop);
  ReadingJobsOptions jobs;
  FOREBAY_RETURN_IF_ERROR(run_reading_jobs(
      *files.store, files.files.size(), [&](size_t file) { return std::make_unique<IndexJob>(run, file); }, jobs,
      std::move(stop)));
  const Lock lock(run.bad_mutex);
  if (!run.bad.empty()) return bad_files(run);
  return OpenedTables{std::move(run.opened), run.cache.tables};
}

}  // namespace forebay
