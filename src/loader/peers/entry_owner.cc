#include "loader/peers/entry_owner.h"

#include <algorithm>
#include <utility>

#include "base/chunk_source.h"
#include "pipeline/selection.h"

namespace forebay {

namespace {

// Returns the index of the first selected sample whose id is not below `id`; ids ascend.
int64_t index_of(const Selection& selection, int64_t id) {
  int64_t begin = 0, end = selection.size();
  // Fast path: all samples before it take part, as in most runs.
  if (id >= 0 && id < end && selection.id_at(id) == id) return id;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (selection.id_at(middle) < id)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

}  // namespace

ElementNumbers::ElementNumbers(const std::vector<int64_t>& sizes) : firsts_(1, 0) {
  for (const int64_t size : sizes) firsts_.push_back(firsts_.back() + size);
}

ElementNumbers::Place ElementNumbers::place_of(int64_t number) const {
  const auto next = std::ranges::upper_bound(firsts_, number);
  return {static_cast<size_t>(next - firsts_.begin() - 1), number - *(next - 1)};
}

OwnerOf owner_in_plan(OwnerInput input) {
  return [in = std::move(input)](int64_t number) {
    if (number < 0 || number >= in.numbers->size()) return Owner();
    const auto [branch, element] = in.numbers->place_of(number);
    const OwnedElements& of = in.branches[branch];
    if (!of.selection || (of.chunks && element >= of.chunks->chunks())) return Owner();
    const int64_t index = index_of(*of.selection, of.chunks ? of.chunks->chunk_begin(element) : element);
    if (index >= of.selection->size()) return Owner();
    const std::optional<FirstUse> use = first_use(*in.plan, branch, index, in.since);
    if (!use) return Owner();
    const FirstRanks::Delivery delivery = in.ranks->of(*use);
    return Owner{static_cast<int>(delivery.rank), use->at.epoch * in.plan->size() + delivery.position};
  };
}

}  // namespace forebay
