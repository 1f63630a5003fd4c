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
#include "pipeline/foreign.h"
#include "pipeline/itinerary.h"
#include "pipeline/row_values.h"
#include "runtime/buffer_pool.h"

namespace forebay {

/// State of one row of a batch under construction. It is small because a batch may have thousands
/// of rows.
struct RowJob {
  int64_t id = 0;       ///< id of the sample in the source, or of its current replacement
  int32_t attempt = 0;  ///< replacements tried so far
  bool skipped = false;
};

/// The data error of a row, for the consumer.
struct RowError {
  int64_t row = 0;
  int64_t id = 0;
  Status status;
  bool raise = false;   ///< the consumer gets this error in place of the batch
  uint16_t branch = 0;  ///< whose source has the sample
};

/// A batch under construction: the memory for its rows and the state of each row. It is part of a
/// WindowBatch. The run's lock guards it, except that a row's bytes and values belong to the
/// compute thread that works on that row, and all of them to the threads that assemble the batch.
///
/// First acquire_slots() gets memory for the fields of known shape, into which the rows are written
/// directly. Values of other fields are stored row by row. Once all rows are done, the batch is
/// assembled: compute_layout() computes the bytes of the other fields, reserve_assembly() charges
/// them, begin_assembly() acquires the memory, copy_piece() copies the rows into it, and
/// finish_assembly() makes the Batch. compute_layout() and copy_piece() run without the run's lock.
class BatchJob {
 public:
  BatchJob(ExecutionPlan plan, StepPlan step);

  const StepPlan& step() const { return step_; }
  std::vector<RowJob>& rows() { return rows_; }
  const std::vector<RowJob>& rows() const { return rows_; }
  /// The row as it was planned, before any replacement.
  const Row& planned(int64_t row) const { return step_.rows[static_cast<size_t>(row)]; }
  /// The branch that makes the row.
  const BranchPlan& branch_of(int64_t row) const { return plan_.branch(planned(row).branch); }
  /// Name of the row's sample in messages.
  std::string name_of(int64_t row) const { return branch_of(row).name_of(rows_[static_cast<size_t>(row)].id); }
  /// The key of the row's random numbers in stage `stage`. A replacement counts as a further
  /// occurrence of its sample, so that it draws other numbers than the sample's own row. In the
  /// first `stages_when_new` stages a replayed sample has the key that it had when it was new.
  SampleKey key(int64_t row, size_t stage) const {
    const Row& of = planned(row);
    const RowJob& job = rows_[static_cast<size_t>(row)];
    const BranchPlan& branch = plan_.branch(of.branch);
    if (!of.replayed) return {branch.seed, of.pass, job.id, of.occurrence + job.attempt};
    if (stage < branch.stages_when_new) return {branch.seed, of.pass, of.id, 0};
    return {branch.seed, step_.at.epoch, job.id, of.occurrence + job.attempt};
  }

  /// Acquires memory for the rows of all fields of known shape. Returns false if the budget does
  /// not have all of it now. Memory acquired so far is retained, and the next call continues from
  /// there.
  bool acquire_slots(BufferPool& pool);
  bool has_slots() const { return has_slots_; }
  /// The destination of row `row` of output `output`. Only for outputs with row_bytes.
  uint8_t* slot(size_t output, int64_t row) {
    return slots_[output].data() + *outputs_[output].row_bytes * static_cast<size_t>(row);
  }

  /// Stores a value of a field of unknown shape until the batch is assembled. If the plan packs
  /// sequences, only the part of the sequence that belongs to this row is stored.
  void store(size_t output, int64_t row, Value value);
  void store_extras(int64_t row, Extras extras) { values_.store_extras(row, std::move(extras)); }
  /// Like store(), for a row of a chunk: records a reference to bytes that stay valid until the
  /// batch is assembled. Only for plans with ChunkPlan::gathers_rows.
  void set_reference(size_t output, int64_t row, RowBytes bytes);
  /// The bytes recorded by set_reference(). A caller that copies them elsewhere reports it with
  /// redirect_reference().
  RowBytes reference(size_t output, int64_t row) const { return values_.reference(output, row); }
  void redirect_reference(size_t output, int64_t row, RowBytes bytes) { values_.set_reference(output, row, bytes); }
  /// Whether the batch has fields of unknown shape. Assembling those takes memory and time.
  bool has_unsized_fields() const { return values_.has_fields(); }
  /// Whether such fields are stored as one Value per row, and not as references to chunks.
  bool stores_values_per_row() const { return values_.stores_values(); }
  /// Bytes of the values that are stored for this row.
  uint64_t value_bytes(int64_t row) const { return values_.bytes(row); }
  /// Drops the values and references that are stored for this row.
  void drop_values(int64_t row) { values_.drop(row); }

  /// The error that the consumer gets in place of this batch. If it is not OK, the batch is not
  /// assembled.
  Status delivery_error() const;

  /// Resets all row values and errors. The memory of the slots is retained.
  void reset_rows();

  /// Computes the layout of all fields of unknown shape from their values.
  void compute_layout();
  bool has_layout() const { return assembly_ != nullptr; }
  /// Bytes that assembly takes from the pool. Before compute_layout() this computes the layout of
  /// the rows present, which takes time.
  uint64_t assembly_bytes() const;
  /// Charges `bytes` to the pool's budget. Returns false, and holds nothing, if the budget does not
  /// have them now.
  bool reserve_assembly(BufferPool& pool, uint64_t bytes);
  /// Acquires the memory that was reserved. InvalidArgument if the values do not fit together; none
  /// of the memory stays charged then.
  Status begin_assembly(BufferPool& pool);
  size_t piece_count() const { return assembly_->piece_count(); }
  /// Copies one piece. Each piece is copied once, by any thread. Returns true to the caller that
  /// copied the last piece: it may call finish_assembly().
  bool copy_piece(size_t piece) { return assembly_->copy(piece); }
  /// Returns the finished batch. Skipped rows are removed from it, and the stored values are
  /// released. The error is that of a step on packed blocks.
  Result<Batch> finish_assembly();
  /// Runs all steps of the assembly on the calling thread.
  Result<Batch> assemble(BufferPool& pool);
  /// Bytes of the pool that this job, or the batch made by it, holds.
  uint64_t claimed_bytes() const { return claim_.bytes(); }
  /// The rows of a finished batch, for user code that gets these in place of fields. They own their
  /// memory, or share that of the batch. Empty afterwards.
  std::vector<NamedValues> take_samples(const Batch& made);
  /// Adds the samples that the finished batch has, without padding, by branch; of packed blocks of one
  /// branch, the blocks. There must be several branches.
  void count_samples(const Batch& made, std::span<int64_t> by_branch) const;
  /// The key of the random numbers of a packed block, and its name in messages.
  SampleKey key_of_block(size_t block) const;
  std::string name_of_block(size_t block) const;
  /// Place of the batch in the epoch's order: that of its first row. No other batch of any rank has
  /// the same.
  int64_t first_position() const;
  /// Charges `claim` in place of the memory that the job holds: user code made other fields.
  void replace_claim(Claim claim);
  /// Releases the slots and the claim. The memory of a finished batch then belongs to its reader.
  void drop_slots();

  std::vector<RowError> errors;  ///< data errors of rows, delivered with the batch
  Status fatal;                  ///< machine or transient error; the batch cannot be delivered

 private:
  // batch_job_samples.cc: plans that do not stack rows.
  void plan_samples(BatchAssembly& assembly) const;
  NamedValues copy_sample(int64_t row) const;
  void copy_samples();

  // batch_extras.cc: the fields that only user code knows.
  void plan_extras(BatchAssembly& assembly) const;

  /// The field as the plan describes it, of kind kAny if its values may differ from that.
  Field planned_field(size_t output) const;
  /// Whether all rows of the output differ in type or shape from the plan's field. It is an error
  /// if only some rows differ.
  Result<bool> all_differ(size_t output) const;
  void plan_assembly(BatchAssembly& assembly) const;
  Result<BatchAssembly::FieldJob> plan_output(size_t output) const;
  Result<BatchAssembly::FieldJob> plan_values(const Field& field, const std::vector<const Value*>& values) const;
  /// A batch without fields, of the rows that were not skipped.
  Batch begin_batch() const;
  void add_fields(Batch& batch);
  /// Moves the rows that were not skipped to the front of every slot.
  void compact_slots();
  /// The field that marks replayed samples.
  BatchField make_replayed_field() const;
  /// The sample of the `index`-th row that was not skipped.
  SampleName name_of_remaining(size_t index) const;
  Status acquire_field(BufferPool& pool, BatchAssembly::FieldJob& field);
  Result<Buffer> acquire(BufferPool& pool, size_t bytes);
  Result<CollationMemory> acquire_collation(BufferPool& pool, const Collation& layout, size_t rows);
  /// The references of rows that were not skipped, in `remaining` if rows were skipped.
  std::span<const RowBytes> remaining_references(size_t output, std::vector<RowBytes>& remaining) const;

  // batch_job_blocks.cc: plans that pack sequences.
  struct Sequences {
    DType type;  // of the elements
    std::vector<RowBytes> rows;
  };
  RowBytes part_of_sequence(size_t output, int64_t row, RowBytes sequence, size_t item);
  void cut_to_part(size_t output, int64_t row, Value& sequence);
  Status plan_blocks(BatchAssembly& assembly) const;
  void plan_segment_ends(const SegmentEnds& fields, int64_t length, BatchAssembly& assembly) const;
  Result<Sequences> collect_sequences(size_t output) const;
  std::vector<BlockRow> block_rows() const;
  Result<Batch> finish_blocks();
  Status change_blocks(Batch& batch) const;
  Status locate(Status status, int64_t row) const;

  const ExecutionPlan plan_;
  const std::vector<OutputField>& outputs_;  // of plan_
  const StepPlan step_;
  std::vector<RowJob> rows_;
  std::vector<Buffer> slots_;         // per output; empty if the shape is not known
  RowValues values_;                  // of outputs of unknown shape
  std::vector<NamedValues> samples_;  // if the plan does not stack rows
  // A row and an output (row × outputs + output) whose sequence differs from its packed length; -1
  // if there is none.
  std::atomic<int64_t> mismatch_ = -1;
  bool has_slots_ = false;
  Claim claim_;
  Claim reserved_;  // for assembly; no memory was acquired for it yet
  std::unique_ptr<BatchAssembly> assembly_;
};

}  // namespace forebay
