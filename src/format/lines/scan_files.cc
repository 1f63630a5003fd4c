#include "format/lines/scan_files.h"

#include <algorithm>

#include "format/lines/line_index_files.h"
#include "format/table/reading_jobs.h"

namespace forebay {

namespace {

// 4 MiB a read: enough to keep a disk or a bucket busy with many of them, and small beside the 256 MiB of all together.
constexpr uint64_t kScanBlocks = 4;  // in one read

/// A few blocks of one file.
struct ScanPart {
  size_t file = 0;
  uint64_t first_block = 0, blocks = 0;
};

using Scans = std::vector<std::vector<BlockScan>>;  // file → block

class ScanJob final : public ReadingJob {
 public:
  ScanJob(const LineFile& file, const ScanPart& part, const OpenLinesOptions& options, std::vector<BlockScan>& scans)
      : file_(file), part_(part), options_(options), scans_(scans) {}

  Result<JobWish> step(JobInput input) override {
    FOREBAY_RETURN_IF_ERROR(input.status);
    if (!asked_) return ask();
    scan(input.buffers[0].span());
    return JobWish{};
  }

 private:
  Result<JobWish> ask() {
    asked_ = true;
    const uint64_t begin = part_.first_block * options_.block_bytes;
    const uint64_t length = std::min(part_.blocks * options_.block_bytes, file_.size - begin);
    JobWish wish;
    wish.reads.push_back({file_.key, ByteRange{begin, length}, file_.size});
    return wish;
  }

  void scan(std::span<const uint8_t> bytes) {
    for (uint64_t block = part_.first_block; !bytes.empty(); ++block) {
      const size_t length = std::min<size_t>(bytes.size(), options_.block_bytes);
      // Each block has a place of its own, so jobs need no lock.
      scans_[block] = scan_block(bytes.first(length), block == 0, options_.rows);
      bytes = bytes.subspan(length);
    }
  }

  const LineFile& file_;
  const ScanPart part_;
  const OpenLinesOptions& options_;
  std::vector<BlockScan>& scans_;
  bool asked_ = false;
};

uint64_t blocks_of(const LineFile& file, uint64_t block_bytes) {
  return file.size / block_bytes + (file.size % block_bytes > 0 ? 1 : 0);
}

}  // namespace

Result<std::vector<std::vector<LineSlice>>> scan_files(Store& store, std::span<const LineFile> files,
                                                       const OpenLinesOptions& options, std::stop_token stop) {
  std::vector<std::vector<LineSlice>> slices(files.size());
  std::vector<ScanPart> parts;
  Scans scans(files.size());
  const LineIndexFiles kept(store, options);
  for (size_t i = 0; i < files.size(); ++i) {
    if (std::optional<std::vector<LineSlice>> known = kept.load(files[i])) {
      slices[i] = std::move(*known);
      continue;
    }
    const uint64_t blocks = blocks_of(files[i], options.block_bytes);
    scans[i].resize(blocks);
    for (uint64_t block = 0; block < blocks; block += kScanBlocks)
      parts.push_back({i, block, std::min(kScanBlocks, blocks - block)});
  }
  ReadingJobsOptions how;
  how.bytes = [&](size_t job) { return parts[job].blocks * options.block_bytes; };
  FOREBAY_RETURN_IF_ERROR(run_reading_jobs(
      store, parts.size(),
      [&](size_t job) {
        const ScanPart& part = parts[job];
        return std::make_unique<ScanJob>(files[part.file], part, options, scans[part.file]);
      },
      how, std::move(stop)));
  for (size_t i = 0; i < files.size(); ++i) {
    if (scans[i].empty()) continue;
    slices[i] = slices_of(scans[i], files[i].size, options.block_bytes, options.rows);
    kept.save(files[i], slices[i]);
  }
  return slices;
}

}  // namespace forebay
