#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "base/source.h"
#include "pipeline/batch_job.h"
#include "pipeline/branch_plan.h"
#include "pipeline/chunk_table.h"
#include "pipeline/element.h"
#include "pipeline/itinerary.h"
#include "pipeline/row_entry.h"

namespace forebay {

/// Policy for samples with data errors (is_data_error).
enum class BadSample : uint8_t { kRaise, kSkip, kReplace };

/// The progress of some rows through the stages: the data that was computed for them. Empty before
/// the first stage.
struct RowProgress {
  size_t stage = 0;  ///< next stage to run
  RowEntry entry;
  Record record;  ///< the record before `stage`, if user code is next or has just returned
  Extras extras;
};

/// Rows of a batch that are processed together, usually one: their stored bytes, state and
/// progress. It belongs to a compute thread while it is Running, and is guarded by the run's lock
/// otherwise.
struct RowInput : Element, RowProgress {
  int64_t begin = 0, end = 0;     ///< rows, see RowPlacement
  int64_t first_row = 0;          ///< row of the batch at `begin`
  uint16_t branch = 0;            ///< of all the rows
  bool entry_needs_read = false;  ///< the cache entry is not in the page cache and has to be fetched

  /// Drops all data, so that the rows start from the beginning.
  void reset() {
    bytes = StoredBytes();
    working_needed = 0;
    static_cast<RowProgress&>(*this) = RowProgress();
  }
};

/// Location of some rows in their batch, and in blocks of chunks.
struct RowPlacement {
  /// The block that the rows belong to; its chunks are in memory. Null if rows are read one by one.
  const ChunkBlock* block = nullptr;
  /// Rows of the batch, sorted by branch and block. RowInput::begin and end are indices into it.
  /// Empty if they are rows of the batch directly.
  std::span<const uint32_t> sorted_rows{};
  /// The chunks may be freed before the batch is assembled.
  bool outlasts_chunks = false;

  int64_t row(int64_t index) const { return sorted_rows.empty() ? index : sorted_rows[static_cast<size_t>(index)]; }
};

/// The outcome of processing rows, which decides the next step of their task.
enum class Verdict : uint8_t {
  kDone,            ///< the rows are written into the batch, or skipped
  kNeedsBytes,      ///< run the rows again with RowResult::needs_bytes of working memory
  kNeedsChunks,     ///< replacements are in none of the block's chunks; see RowResult::missing_ids
  kPageCacheMiss,   ///< the bytes are not in the page cache; read them asynchronously
  kReplaced,        ///< the sample was bad; look up its replacement
  kEntryDamaged,    ///< the cache has dropped the damaged entry; look the sample up again
  kVersionLearned,  ///< the key of the entry is known now; look the sample up again
  kForeign,         ///< user code is next
  kFatal,           ///< the batch fails with RowResult::fatal, a machine or transient error
};

struct RowResult {
  Verdict verdict = Verdict::kDone;
  std::vector<RowError> errors;  ///< data errors of samples, treated by the policy
  Status fatal;
  /// `fatal` says that storage was unavailable to a compute thread.
  bool storage_unavailable = false;
  uint64_t needs_bytes = 0;    ///< working memory for kNeedsBytes
  Store* read_from = nullptr;  ///< store that bytes were read from without waiting
  /// The stages that the last row has passed: [first_stage, end_stage).
  size_t first_stage = 0, end_stage = 0;
  Buffer copied;                     ///< lists and texts copied out of chunks that the batch outlasts
  std::vector<int64_t> missing_ids;  ///< ids of replacements in other chunks
};

/// Memory that RowWork::gather() needs for a moment. A task uses it for the rows of all branches.
class GatherBuffers {
 public:
  std::vector<int64_t> ids;
  /// Memory of that size, which is not initialized. Replaces what an earlier call returned.
  uint8_t* rows(size_t bytes) {
    if (bytes > capacity_) {
      rows_ = std::make_unique_for_overwrite<uint8_t[]>(bytes);
      capacity_ = bytes;
    }
    return rows_.get();
  }

 private:
  std::unique_ptr<uint8_t[]> rows_;
  size_t capacity_ = 0;
};

/// The work of compute threads on rows of one branch: they read a sample if that needs no waiting,
/// run the stages, and write the row into the batch. It knows no schedule and takes no lock. Any
/// number of threads may run different rows, of one batch or of several. RowTasks decides which
/// rows run, and what follows from the Verdict.
class RowWork {
 public:
  RowWork(std::shared_ptr<const BranchPlan> plan, std::shared_ptr<const Itinerary> itinerary, BadSample policy);

  /// Processes the rows of `input`, up to the next user code or into the batch. Never throws. Rows
  /// that need more memory than `memory` grants run again from the start, so they are left
  /// unchanged, except that samples found to be bad stay marked.
  RowResult run(RowInput& input, BatchJob& batch, const RowPlacement& placement, WorkMemory& memory) const;

  /// True if gather() does all that run() would do.
  bool only_gathers() const { return plan_->gathers_only() && plan_->keyed.empty(); }
  /// Copies the rows with these indices (see RowPlacement) into the batch. For plans whose source
  /// does that itself (BranchPlan::gathers_only()). Never throws, and does not count the rows. An
  /// error does not say which row is bad; run() finds it.
  Status gather(BatchJob& batch, int64_t begin, int64_t end, const RowPlacement& placement,
                GatherBuffers& buffers) const;

  /// Applies the policy to a row whose sample failed, and adds the consequences to `result`: a
  /// skipped row, a replacement, or an error of the whole batch.
  void fail(BatchJob& batch, int64_t row, Status status, RowResult& result) const;
  /// Asks the keyed stages for the row's sample, the last stage first, and stores the answer in
  /// `input.bytes`. Does nothing if StoredBytes::looked_up is set. If an entry is missing that
  /// another task may be making, it returns with `looked_up` unset, unless this row has the right
  /// to make the entry or makes it in addition to the other task.
  void look_up(RowInput& input, const BatchJob& batch) const;
  /// Whether the entry that look_up() missed is not in the cache now. False if its key is not
  /// known: it may be there under a key that another loader has learned.
  bool is_still_missing(const RowInput& input, const BatchJob& batch) const;
  /// Uses the object's bytes that another task has read, unless a cache has the entry.
  void take_stored(RowInput& input, SingleFlight::Stored stored) const;
  /// Looks the row's sample up again in stages whose entries may arrive after look_up(). If an
  /// entry is in memory now, stores it in `input.bytes` and returns true.
  bool retry_lookup(RowInput& input, const BatchJob& batch) const;
  /// Counter that changes when retry_lookup() may find more. Always 0 if it never finds anything.
  uint64_t arrivals() const;
  /// Completes `input.bytes` for the read that the row needs next: of the object, or of its cache
  /// entry.
  void prepare_read(RowInput& input, const BatchJob& batch) const;
  /// Adds the sample's key and id to the status.
  Status locate(Status status, int64_t id) const;

 private:
  RowResult run_gathered(RowInput& input, BatchJob& batch, const RowPlacement& placement, WorkMemory& memory) const;
  Status gather_fields(BatchJob& batch, int64_t begin, const RowPlacement& placement, GatherBuffers& buffers) const;
  RowResult run_stages(RowInput& input, BatchJob& batch, const RowPlacement& placement, WorkMemory& memory) const;
  bool prepare_bytes(RowInput& input, BatchJob& batch, const RowPlacement& placement, int64_t row,
                     RowResult& result) const;
  bool read(RowInput& input, BatchJob& batch, RowResult& result) const;
  bool run_sample(RowInput& input, BatchJob& batch, const RowPlacement& placement, int64_t row, WorkMemory& memory,
                  RowResult& result) const;
  void note_missing_entry(size_t index, RowInput& input, const BatchJob& batch) const;
  bool find_in_stage(size_t index, const Identity& key, RowInput& input, const BatchJob& batch) const;
  void find_parts(RowInput& input, const BatchJob& batch) const;
  const StoredBytes::Entry* find_part_entry(const StoredBytes& bytes, size_t begin) const;
  bool is_replaced(const StoredBytes& bytes, size_t object) const;
  std::vector<Buffer> objects_of(const StoredBytes& bytes) const;
  bool open_entries(RowInput& input) const;
  Status run_row(RowInput& input, BatchJob& batch, const RowPlacement& placement, int64_t row, WorkMemory& memory,
                 RowResult& result) const;
  Status check_packed_alone(const Extras& extras) const;
  Result<Record> begin_row(RowInput& input, const BatchJob& batch, const RowPlacement& placement, int64_t row) const;
  Status run_stage(size_t index, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                   WorkMemory& memory) const;
  bool replace(BatchJob& batch, int64_t row) const;
  Status write_row(BatchJob& batch, const RowPlacement& placement, int64_t row, Record& record,
                   WorkMemory& memory) const;
  Status store_row(size_t index, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                   WorkMemory& memory) const;
  /// Reports to the keyed stages that the row has passed them. Only for rows that do not run again,
  /// so that no row is reported twice.
  void report_computed(const RowInput& input, const BatchJob& batch, const RowResult& result) const;

  const std::shared_ptr<const BranchPlan> plan_;
  const std::shared_ptr<const Itinerary> itinerary_;
  const BadSample policy_;
  std::vector<StepCounters*> counters_;  // by StepMeter's step number; number 0 writes the batch
  std::vector<std::string_view> names_;  // names of these steps
  std::vector<int> first_step_;          // number of the first step of each stage
};

/// The error of a row of a chunk that is Ready or Failed.
Status chunk_row_status(const Chunk& chunk, int64_t row);

}  // namespace forebay
