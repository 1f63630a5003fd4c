#include "format/webdataset/shard_places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

namespace {

/// The ranges of one field's files in a shard.
class PlacesInShard {
 public:
  PlacesInShard(const TarIndex& index, const ShardField& field) : index_(index), files_(index) {
    for (const std::string& extension : index.extensions) {
      const auto at = std::ranges::find(field.extensions, extension);
      ranks_.push_back(at != field.extensions.end() ? at - field.extensions.begin() : kOther);
    }
  }

  /// Called for each sample in order.
  ByteRange find(size_t sample) {
    ByteRange place;
    std::ptrdiff_t best = kOther;
    bool twice = false;
    files_.begin(sample);
    for (const TarIndex::File& file : index_.files_of(sample)) {
      const ByteRange range = files_.next();
      const std::ptrdiff_t rank = ranks_[file.extension];
      if (rank == kOther) continue;
      twice = twice || rank == best;
      // Must be the same rule as in ChunkFiles::add().
      if (rank < best) std::tie(best, place) = std::pair(rank, range);
    }
    return twice ? ByteRange{} : place;
  }

 private:
  static constexpr std::ptrdiff_t kOther = PTRDIFF_MAX;

  const TarIndex& index_;
  TarFilePlaces files_;
  std::vector<std::ptrdiff_t> ranks_;  // of each extension of the index, among those of the field
};

}  // namespace

ValuePlaces find_shard_places(std::shared_ptr<const ShardChunks> chunks, size_t field, std::stop_token stop) {
  const TarIndexFiles saved = saved_indexes(chunks->index_options);
  auto places = std::make_shared<std::vector<ByteRange>>();
  places->reserve(static_cast<size_t>(chunks->samples));
  size_t unsaved = 0, first_unsaved = 0;
  for (size_t shard = 0; shard < chunks->shards.size(); ++shard) {
    if (stop.stop_requested()) return {};
    const ShardChunks::Shard& one = chunks->shards[shard];
    const std::optional<TarIndex> index = saved.load({chunks->shard_name(shard), one.size, one.version});
    const int64_t end = shard + 1 < chunks->shards.size() ? chunks->shards[shard + 1].first_id : chunks->samples;
    if (!index || static_cast<int64_t>(index->samples.size()) != end - one.first_id) {
      if (unsaved++ == 0) first_unsaved = shard;
      places->resize(static_cast<size_t>(end));
      continue;
    }
    PlacesInShard found(*index, chunks->fields[field]);
    for (size_t sample = 0; sample < index->samples.size(); ++sample) places->push_back(found.find(sample));
  }
  if (unsaved > 0)
    log_warning(fmt::format("{} of {} shards have no saved index ({}{}): they are read whole to measure their pictures",
                            unsaved, chunks->shards.size(), chunks->shard_name(first_unsaved),
                            unsaved > 1 ? ", …" : ""));
  if (unsaved == chunks->shards.size()) return {};
  const uint64_t bytes = places->size() * sizeof(ByteRange);
  const auto find = [chunks = std::move(chunks), places = std::move(places)](int64_t id,
                                                                             uint64_t most) -> SampleSource::Fetch {
    const ByteRange place = (*places)[static_cast<size_t>(id)];
    if (place.length == 0) return {};
    const ShardChunks::Shard& shard = chunks->shard_of(id);
    const ByteRange head = {place.offset, std::min(place.length, most)};
    return {chunks->store.get(), {shard.key, head, shard.size, {}}, head.length};
  };
  return {find, bytes};
}

}  // namespace forebay
