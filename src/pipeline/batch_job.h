#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/batch.h"
#include "pipeline/batch_assembly.h"
#include "pipeline/collate.h"
#include "pipeline/execution_plan.h"
#include "pipeline/itinerary.h"
#include "runtime/buffer_pool.h"

namespace forebay {

/// What became of one row of a batch that is being made. Small, since there are thousands.
struct RowJob {
  int64_t id = 0;       ///< of the sample in the source; a replacement's once one was needed
  int32_t attempt = 0;  ///< replacements tried
  bool skipped = false;
};

struct RowError {
  int64_t row = 0;
  int64_t id = 0;
  Status status;
  bool raise = false;  ///< the consumer gets this error in place of the batch
};

/// One batch while it is being made: memory for its rows, and what became of each. Belongs to the runner, which guards it with
/// its lock; a row's place in the slots belongs to the thread that works on that row.
class BatchJob {
 public:
  BatchJob(const ExecutionPlan& plan, const Itinerary& itinerary, StepPlan step);

  const StepPlan& step() const { return step_; }
  std::vector<RowJob>& rows() { return rows_; }
  const std::vector<RowJob>& rows() const { return rows_; }
  /// The sample that the row stands for, unless another one stands in.
  int64_t planned_id(const Itinerary& itinerary, int64_t row) const;
  int64_t position(int64_t row) const { return step_.rows[static_cast<size_t>(row)].position; }
  /// Of the row's random numbers. A replacement is one more appearance of its sample; its attempts must not share random
  /// numbers with that sample's own.
  /// `stage`: the next one that it runs. An old sample has those of when it was new in the stages that it is kept behind.
  SampleKey key(int64_t row, size_t stage) const {
    const RowJob& job = rows_[static_cast<size_t>(row)];
    if (stage < plan_.stages_when_new) {
      if (const std::optional<KeptSample> old = step_.old_sample(row)) return {plan_.seed, old->epoch, old->id, 0};
    }
    return {plan_.seed, step_.at.epoch, job.id, step_.rows[static_cast<size_t>(row)].occurrence + job.attempt};
  }

  /// Memory for the rows of fields of known shape. False where the budget has none now; nothing is held then.
  bool acquire_slots(BufferPool& pool);
  bool has_slots() const { return has_slots_; }
  /// Where row `row` of output `output` goes; only for outputs with row_bytes.
  uint8_t* slot(size_t output, int64_t row) {
    return slots_[output].data() + *plan_.outputs[output].row_bytes * static_cast<size_t>(row);
  }

  /// Keeps a value whose size was not known before, until assemble(). Of a sequence that is packed the part that the row stands for.
  void keep(size_t output, int64_t row, Value value);
  void keep_extras(int64_t row, Extras extras) { extras_[static_cast<size_t>(row)] = std::move(extras); }
  /// The same for a row of a chunk: bytes that stay where they are until assemble(). Only for plans whose chunks give rows.
  void point_to(size_t output, int64_t row, RowBytes bytes);
  /// Where they were; the caller may copy them elsewhere, and say where they are now.
  RowBytes pointed_to(size_t output, int64_t row) const { return lists_[output][static_cast<size_t>(row)]; }
  void moved_to(size_t output, int64_t row, RowBytes bytes) { lists_[output][static_cast<size_t>(row)] = bytes; }
  /// Whether there is anything to keep or to point to; then assemble() takes memory and time.
  bool keeps_values() const { return !unsized_.empty() || !extras_.empty(); }
  /// Whether values are kept, row by row.
  bool keeps_loose_values() const { return !extras_.empty() || (keeps_values() && !loose_[unsized_.front()].empty()); }
  uint64_t loose_bytes(int64_t row) const;
  /// Nothing of this row is kept.
  void forget_values(int64_t row);

  /// Why the consumer gets an error in place of this batch; then nothing is put together.
  Status spoiled() const;

  /// Everything but the slots' memory is as it was in the beginning.
  void clear_values();

  // Putting the batch together, once all rows are done: what its fields take is reckoned, charged, and then copied in pieces. The
  // first and the third need no lock: the rows, and what is kept of them, belong to the threads that do it.

  /// Looks at all kept values.
  void reckon();
  bool reckoned() const { return assembly_ != nullptr; }
  /// What assembling will take from the pool; before reckon(), of the rows that are there, which takes time.
  uint64_t assembly_bytes() const;
  /// Charges them. False, and nothing held, where the budget does not have them now.
  bool reserve_assembly(BufferPool& pool, uint64_t bytes);
  /// Takes what was reserved. InvalidArgument where the values do not go together; then nothing has changed.
  Status begin_assembly(BufferPool& pool);
  size_t pieces() const { return assembly_->pieces(); }
  /// From any thread, each piece once. True for whoever comes last: the batch can be finished.
  bool copy_piece(size_t piece) { return assembly_->copy(piece); }
  /// The batch: skipped rows are closed up, kept values are let go of.
  Batch finish_assembly();
  /// All of this one after another.
  Result<Batch> assemble(BufferPool& pool);
  /// Bytes of the pool that this job (or the batch it made) holds.
  uint64_t claimed_bytes() const { return claim_.bytes(); }
  /// Lets go of the slots, and of the claim: what a batch holds that was made is its reader's from here on.
  void drop_slots();

  std::vector<RowError> errors;  ///< of data; dealt with when the batch is delivered
  Status fatal;                  ///< of the machine, or transient: nothing of this batch is delivered

 private:
  void forget_all_values();
  /// What is known of an output's loose values before they are seen.
  Field announced(size_t output) const;
  /// Whether the output's rows came out of another type or shape than was known; an error where only some did.
  Result<bool> all_differ(size_t output) const;
  void plan_assembly(BatchAssembly& assembly) const;
  Result<BatchAssembly::Part> plan_output(size_t output) const;
  Result<BatchAssembly::Part> plan_values(const Field& field, const std::vector<const Value*>& values) const;
  void plan_extras(BatchAssembly& assembly) const;
  void close_up();
  BatchField which_are_old() const;
  /// The sample of the index-th row that was not skipped.
  SampleName name_of_kept(size_t index) const;
  Status take_memory(BufferPool& pool, BatchAssembly::Part& part);
  Result<Buffer> acquire(BufferPool& pool, size_t bytes);
  Result<CollationMemory> acquire(BufferPool& pool, const Collation& layout, size_t rows);
  std::span<const RowBytes> kept_lists(size_t output, std::vector<RowBytes>& kept) const;

  // Where sequences are packed:
  RowBytes piece_of(int64_t row, RowBytes sequence, size_t item);
  void cut_out(int64_t row, Value& sequence);
  Status plan_blocks(BatchAssembly& assembly) const;
  Result<DType> sequences(std::vector<RowBytes>& rows) const;
  Batch finish_blocks();
  Status of_row(Status status, int64_t row) const;

  const ExecutionPlan& plan_;
  const StepPlan step_;
  std::vector<RowJob> rows_;
  std::vector<Buffer> slots_;                 // per output; empty where the shape is not known
  std::vector<std::vector<Value>> loose_;     // per output and row; empty where the shape is known
  std::vector<std::vector<RowBytes>> lists_;  // the same where rows come from chunks
  std::vector<size_t> unsized_;               // the outputs that have either
  std::vector<Extras> extras_;                // per row
  std::atomic<int64_t> changed_ = -1;         // a row whose sequence is not as long as it was when it was packed
  bool has_slots_ = false;
  Claim claim_;
  Claim reserved_;  // for assembling, not taken yet
  std::unique_ptr<BatchAssembly> assembly_;
};

}  // namespace forebay
