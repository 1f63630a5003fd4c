#include "loader/peers/entry_owner.h"

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

OwnerOf owner_by_placement(OwnerInput input) {
  return [in = std::move(input)](int64_t element) {
    if (element < 0 || (in.chunks && element >= in.chunks->chunks())) return Owner();
    const int64_t id = in.chunks ? in.chunks->chunk_begin(element) : element;
    const int64_t index = index_of(*in.selection, id);
    if (index >= in.selection->size()) return Owner();
    const Placement::Ownership kept = in.placement->ownership(index);
    return Owner{kept.host, kept.position};
  };
}

}  // namespace forebay
