#include "format/lines/scan_files.h"

#include <algorithm>

#include "base/sniff.h"
#include "format/files/reading_jobs.h"
#include "format/lines/line_index_files.h"
#include "format/lines/row_scanner.h"

namespace forebay {

namespace {

// Reads of 4 MiB are enough to keep a disk or a bucket busy, and few of the 256 MiB that all reads
// may take.
constexpr uint64_t kScanBlocks = 4;  // blocks per read

/// A few blocks of one file.
struct ScanPart {
  size_t file = 0;
  uint64_t first_block = 0, blocks = 0;
};

using Scans = std::vector<std::vector<BlockScan>>;  // file → block

/// Checks that the file is text. UTF-16 and JSON have further checks elsewhere. An HTML or XML page
/// from a server holds no records.
Status check_head(std::span<const uint8_t> head, const LineFile& file, LineRows rows) {
  FOREBAY_RETURN_IF_ERROR(check_text(head, file.size));
  const FileKind kind = sniff(head, file.size).kind;
  const bool page = kind == FileKind::kHtmlPage || kind == FileKind::kXmlError;
  return page && rows == LineRows::kNotBlank ? wrong_file("records of JSON", head, file.size) : Status();
}

class ScanJob final : public ReadingJob {
 public:
  ScanJob(const Store& store, LineFile& file, const ScanPart& part, const OpenLinesOptions& options,
          std::vector<BlockScan>& scans)
      : store_(store), file_(file), part_(part), options_(options), scans_(scans) {}

  Result<NextReads> step(JobInput input) override {
    FOREBAY_RETURN_IF_ERROR(input.status);
    if (!asked_) return ask();
    if (part_.first_block == 0) {
      if (Status wrong = begin_file(input.buffers[0].span()); !wrong.ok())
        return std::move(wrong).with_key(store_.display_name(file_.key));
    }
    scan(input.buffers[0].span());
    return NextReads{};
  }

 private:
  Result<NextReads> ask() {
    asked_ = true;
    const uint64_t begin = part_.first_block * options_.block_bytes;
    const uint64_t length = std::min(part_.blocks * options_.block_bytes, file_.size - begin);
    NextReads next;
    next.reads.push_back({file_.key, ByteRange{begin, length}, file_.size});
    return next;
  }

  /// Only the job of the file's first blocks writes its form, and nothing reads the form before all
  /// jobs have ended.
  Status begin_file(std::span<const uint8_t> head) {
    FOREBAY_RETURN_IF_ERROR(check_head(head, file_, options_.rows));
    file_.form = find_text_form(head, head.size() == file_.size, options_.rows);
    return {};
  }

  void scan(std::span<const uint8_t> bytes) {
    for (uint64_t block = part_.first_block; !bytes.empty(); ++block) {
      const size_t length = std::min<size_t>(bytes.size(), options_.block_bytes);
      // Each block has its own element, so jobs need no lock.
      scans_[block] = scan_block(bytes.first(length), block == 0, options_.rows);
      bytes = bytes.subspan(length);
    }
  }

  const Store& store_;
  LineFile& file_;
  const ScanPart part_;
  const OpenLinesOptions& options_;
  std::vector<BlockScan>& scans_;
  bool asked_ = false;
};

/// Scans one file that is not plain, from its first byte to its last.
class RowScanJob final : public ReadingJob {
 public:
  RowScanJob(const Store& store, const LineFile& file, const OpenLinesOptions& options, std::vector<LineSlice>& slices)
      : store_(store), file_(file), read_bytes_(kScanBlocks * options.block_bytes), slices_(slices),
        scanner_(file.form, options.rows, options.block_bytes) {}

  Result<NextReads> step(JobInput input) override {
    FOREBAY_RETURN_IF_ERROR(input.status);
    if (begun_) scanner_.feed(input.buffers[0].span());
    begun_ = true;
    NextReads next;
    if (const uint64_t length = std::min(read_bytes_, file_.size - at_); length > 0) {
      next.reads.push_back({file_.key, ByteRange{at_, length}, file_.size});
      at_ += length;
      return next;
    }
    Result<std::vector<LineSlice>> slices = scanner_.finish();
    if (!slices.ok()) return Status(slices.status()).with_key(store_.display_name(file_.key));
    slices_ = std::move(*slices);
    return next;
  }

 private:
  const Store& store_;
  const LineFile& file_;
  const uint64_t read_bytes_;
  std::vector<LineSlice>& slices_;
  RowScanner scanner_;
  uint64_t at_ = 0;
  bool begun_ = false;
};

uint64_t blocks_of(const LineFile& file, uint64_t block_bytes) {
  return file.size / block_bytes + (file.size % block_bytes > 0 ? 1 : 0);
}

using Slices = std::vector<std::vector<LineSlice>>;

// Loads the slices of files whose index was saved. Returns the parts of the others, and makes room
// in `scans` for what they find.
std::vector<ScanPart> load_or_divide(std::span<LineFile> files, const OpenLinesOptions& options,
                                     const LineIndexFiles& saved, Slices& slices, Scans& scans) {
  std::vector<ScanPart> parts;
  for (size_t i = 0; i < files.size(); ++i) {
    if (std::optional<LineIndex> known = saved.load(files[i])) {
      files[i].form = known->form;
      slices[i] = std::move(known->slices);
      continue;
    }
    const uint64_t blocks = blocks_of(files[i], options.block_bytes);
    scans[i].resize(blocks);
    for (uint64_t block = 0; block < blocks; block += kScanBlocks)
      parts.push_back({i, block, std::min(kScanBlocks, blocks - block)});
  }
  return parts;
}

Status scan_parts(Store& store, std::span<LineFile> files, const std::vector<ScanPart>& parts,
                  const OpenLinesOptions& options, Scans& scans, std::stop_token stop) {
  ReadingJobsOptions jobs;
  jobs.bytes = [&](size_t job) { return parts[job].blocks * options.block_bytes; };
  return run_reading_jobs(
      store, parts.size(),
      [&](size_t job) {
        const ScanPart& part = parts[job];
        return std::make_unique<ScanJob>(store, files[part.file], part, options, scans[part.file]);
      },
      jobs, std::move(stop));
}

// Reads the files `numbers` from their beginning.
Status scan_rows(Store& store, std::span<const LineFile> files, const std::vector<size_t>& numbers,
                 const OpenLinesOptions& options, Slices& slices, std::stop_token stop) {
  ReadingJobsOptions jobs;
  jobs.bytes = [&](size_t) { return kScanBlocks * options.block_bytes; };
  return run_reading_jobs(
      store, numbers.size(),
      [&](size_t job) {
        return std::make_unique<RowScanJob>(store, files[numbers[job]], options, slices[numbers[job]]);
      },
      jobs, std::move(stop));
}

}  // namespace

Result<std::vector<std::vector<LineSlice>>> scan_files(Store& store, std::span<LineFile> files,
                                                       const OpenLinesOptions& options, std::stop_token stop) {
  Slices slices(files.size());
  Scans scans(files.size());
  const LineIndexFiles saved(store, options);
  const std::vector<ScanPart> parts = load_or_divide(files, options, saved, slices, scans);
  FOREBAY_RETURN_IF_ERROR(scan_parts(store, files, parts, options, scans, stop));
  // The scan also finds the form of each file. Files of other forms are read again from the
  // beginning, because their blocks cannot be scanned in any order.
  std::vector<size_t> in_sequence;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!scans[i].empty() && !files[i].form.plain()) in_sequence.push_back(i);
  }
  FOREBAY_RETURN_IF_ERROR(scan_rows(store, files, in_sequence, options, slices, stop));
  for (size_t i = 0; i < files.size(); ++i) {
    if (scans[i].empty()) continue;
    if (files[i].form.plain()) slices[i] = slices_of(scans[i], files[i].size, options.block_bytes, options.rows);
    saved.save(files[i], slices[i]);
  }
  return slices;
}

}  // namespace forebay
