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
#include "pipeline/chunk_table.h"
#include "pipeline/execution_plan.h"
#include "pipeline/itinerary.h"
#include "pipeline/row_entry.h"

namespace forebay {

/// What becomes of samples that are bad in themselves (is_data_error).
enum class BadSample : uint8_t { kRaise, kSkip, kReplace };

/// What is at hand of the samples of some rows; nothing at first.
struct RowsAtHand {
  size_t stage = 0;  ///< next stage to run
  bool fetched_all = false;
  Buffer fetched;
  RowEntry entry;
  Record record;  ///< between stages
  Extras extras;
};

/// Rows of a batch that are worked on together. Belongs to the thread that works on it.
struct RowInput : RowsAtHand {
  int64_t begin = 0, end = 0;  ///< rows
  // Learned by tries that had to begin anew:
  uint64_t size = 0;           ///< of the object, where it was larger than guessed
  bool entry_is_cold = false;  ///< the cache's entry was not at hand: it is fetched, also where nothing else is

  /// Begins anew.
  void give_back() { static_cast<RowsAtHand&>(*this) = RowsAtHand(); }
};

/// What rows stand in.
struct RowPlacement {
  const ChunkBlock* block = nullptr;  ///< of chunks that are there; null where rows are read one by one
  std::span<const uint32_t>
      rows_by_block{};           ///< what `begin` to `end` are numbers in; empty: they are the batch's rows
  bool outlasts_chunks = false;  ///< the batch will be put together when the chunks may be gone

  int64_t row(int64_t index) const { return rows_by_block.empty() ? index : rows_by_block[static_cast<size_t>(index)]; }
};

/// What comes next for rows that were worked on.
enum class Verdict : uint8_t {
  kDone,        ///< they are in their places in the batch, or left out
  kNeedsBytes,  ///< of working memory: again, with RowResult::needs_bytes
  kElsewhere,   ///< replacements are in none of the block's chunks: RowResult::elsewhere
  kCold,        ///< the object is not in the page cache: it has to be read without a thread that waits
  kAgain,  ///< to be looked up and fetched anew: a replacement, what was damaged in the cache, what is known by its version now
  kForeign,  ///< user code is next
  kFatal,    ///< RowResult::fatal, of the machine, or transient: the batch cannot be
};

struct RowResult {
  Verdict verdict = Verdict::kDone;
  std::vector<RowError> errors;  ///< samples that are bad in themselves, by policy
  Status fatal;
  bool unread = false;  ///< fatal: storage was away as its bytes, or its chunk's, were asked for by a compute thread
  uint64_t needs_bytes = 0;
  Store* warm = nullptr;           ///< where bytes were read from without waiting
  size_t began = 0, reached = 0;   ///< the stages that the last row has passed: [began, reached)
  Buffer copied;                   ///< lists that were taken out of their chunks
  std::vector<int64_t> elsewhere;  ///< ids
};

/// What compute threads do with rows: read them (if that takes no waiting), run the stages, write them into the batch. Knows no
/// schedule and takes no lock: any number of threads may run different rows, of one batch or several.
class RowWork {
 public:
  RowWork(std::shared_ptr<const ExecutionPlan> plan, std::shared_ptr<const Itinerary> itinerary, BadSample policy);

  /// Never throws. Rows that ask for more memory than `memory` grants have to run again from the start, and so are not changed
  /// but for samples that were found bad.
  RowResult run(RowInput& input, BatchJob& batch, const RowPlacement& at, WorkMemory& memory) const;

  /// What a failure of a row's sample means, for the sample or for the batch.
  void fail(BatchJob& batch, int64_t row, Status status, RowResult& result) const;
  /// Asks the keyed stages, once, what they have of the sample, the last stage first. Where a result is missing that others may be
  /// making, that is only done (`looked_up`) once the row has the right to make it, or makes it beside another.
  void look_up(RowInput& input, const BatchJob& batch) const;
  /// Whether a result that look_up() missed is not there now. False where its key is not known: it may be kept under one that
  /// another loader has learned.
  bool is_still_missing(const RowInput& input, const BatchJob& batch) const;
  /// The object's bytes as the maker of its entry has them.
  void take_stored(RowInput& input, SingleFlight::Stored stored) const;
  /// Whether the row's result is in memory by now, in a stage whose results come while steps wait; also after look_up().
  bool look_again(RowInput& input, const BatchJob& batch) const;
  /// Grows when look_again() may find more; 0 where it never finds anything.
  uint64_t arrivals() const;
  /// What has to be read: the object, or the entry in the cache.
  SampleSource::Fetch fetch_of(const RowInput& input, const BatchJob& batch) const;
  /// The status with the sample's name.
  Status locate(Status status, int64_t id) const;

 private:
  RowResult gather(BatchJob& batch, const RowInput& input) const;
  RowResult run_stages(RowInput& input, BatchJob& batch, const RowPlacement& at, WorkMemory& memory) const;
  bool read(RowInput& input, BatchJob& batch, RowResult& result) const;
  bool find_in(size_t at, const Identity& key, RowInput& input, const BatchJob& batch) const;
  bool open_kept(RowInput& input) const;
  Status run_row(RowInput& input, BatchJob& batch, const RowPlacement& at, int64_t row, WorkMemory& memory,
                 RowResult& result) const;
  Status check_packed_alone(const Extras& extras) const;
  Result<Record> begin_row(RowInput& input, const RowPlacement& at, int64_t id) const;
  Status write_row(BatchJob& batch, const RowPlacement& at, int64_t row, Record& record, WorkMemory& memory) const;
  Status keep_row(size_t at, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                  WorkMemory& memory) const;
  /// Once the row does not run again: each try makes its sample again.
  void note_made(const RowInput& input, const BatchJob& batch, const RowResult& result) const;

  const std::shared_ptr<const ExecutionPlan> plan_;
  const std::shared_ptr<const Itinerary> itinerary_;
  const BadSample policy_;
  std::vector<StepCounters*> counters_;  // by the numbers that StepMeter knows steps by; 0 is what writes the batch
  std::vector<std::string_view> names_;  // of the steps, likewise
  std::vector<int> first_step_;          // of each stage
};

/// What is wrong with a row of a chunk that is there.
Status chunk_row_status(const Chunk& chunk, int64_t row);

}  // namespace forebay
