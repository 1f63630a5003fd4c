#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/description.h"
#include "pipeline/execution_plan.h"
#include "plan/deal.h"
#include "plan/order.h"
#include "plan/packing.h"

namespace forebay {

class ChunkSource;

/// Chunks whose rows are mixed where `shuffle` does not say.
constexpr int64_t kDefaultBlock = 8;

/// In which order the samples of a selection come, and how ranks share them.
struct Ordering {
  std::shared_ptr<const Order> order;
  std::shared_ptr<const Deal> deal;
  std::string dealt = "count";  ///< what the deal is called where ranks are told that theirs differ
  int64_t block = 1;            ///< chunks whose rows are mixed
  int64_t lanes = 1;            ///< spans that hosts own
  bool in_groups = false;       ///< rows are read many at a time
};

/// Of each chunk, how many rows take part.
std::vector<int64_t> selected_rows(const ChunkSource& source, const Selection& selection);
/// All samples of a source, but for those that its own filter leaves out.
std::shared_ptr<const Selection> all_of(const Source& source);
/// Any record of a stream: its number is its id. How many there will be nobody knows; for what is reckoned before, one stands for all.
std::shared_ptr<const Selection> records_of_stream();
/// Those of `from` that a `.take()` chooses.
std::shared_ptr<const Selection> taken(const OpSpec& take, const Source* source, std::shared_ptr<const Selection> from);

/// All that a description chooses of a data set as far as that is known without reading rows: not what a `.filter()` drops. `source`: null where only
/// the size is known.
std::shared_ptr<const Selection> chosen_unread(const Description& description, const Source* source, int64_t size);

/// `shuffle`: the step of the description, or null. Sources of many rows a chunk are shuffled blockwise, others flat.
Result<Ordering> choose_order(const OpSpec* shuffle, const Source& source, const Selection& selection, uint64_t seed);
/// The same where only the chunks are known; null where samples are read one by one.
Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Selection& selection,
                              uint64_t seed);
/// The same of a packing's blocks; `chunks` where those of one chunk stand together.
Result<Ordering> choose_order(const OpSpec* shuffle, const ChunkSource* chunks, const Packing& packing, uint64_t seed);

/// Lanes whose rows a rank gets at most, those included that it shares with a neighbour. So where the rows of all ranks' batches are a
/// multiple of the lanes; elsewhere rows move between ranks (rows_that_move()), and it may meet more.
int64_t lanes_of_rank(const Ordering& ordering, int64_t world_size);
/// Tells the log where there are fewer lanes than ranks.
void warn_of_shared_lanes(const Ordering& ordering, int64_t world_size);

}  // namespace forebay
