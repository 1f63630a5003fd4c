#include "format/webdataset/shard_places.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace forebay {

namespace {

/// The ranges of one field's files in a shard.
class PlacesInShard {
 public:
  PlacesInShard(const TarIndex& index, const ShardField& field) : index_(index), link_(index.links.begin()) {
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
    const std::span<const TarIndex::File> files = index_.files_of(sample);
    for (size_t i = 0; i < files.size(); ++i) {
      const ByteRange range = range_of(index_.samples[sample].first_file + i, files[i]);
      const std::ptrdiff_t rank = ranks_[files[i].extension];
      if (rank == kOther) continue;
      twice = twice || rank == best;
      // Must be the same rule as in ChunkFiles::add().
      if (rank < best) std::tie(best, place) = std::pair(rank, range);
    }
    return twice ? ByteRange{} : place;
  }

 private:
  static constexpr std::ptrdiff_t kOther = PTRDIFF_MAX;

  ByteRange range_of(size_t number, const TarIndex::File& file) {
    if (link_ == index_.links.end() || link_->file != number) return {file.data, file.bytes};
    const TarIndex::Link& link = *link_++;
    return link.found ? ByteRange{link.data, file.bytes} : ByteRange{};
  }

  const TarIndex& index_;
  std::vector<TarIndex::Link>::const_iterator link_;
  std::vector<std::ptrdiff_t> ranks_;  // of each extension of the index, among those of the field
};

}  // namespace

ValuePlaces find_shard_places(std::shared_ptr<const ShardChunks> chunks, size_t field) {
  const TarIndexFiles saved = saved_indexes(chunks->index_options);
  auto places = std::make_shared<std::vector<ByteRange>>();
  places->reserve(static_cast<size_t>(chunks->samples));
  for (size_t shard = 0; shard < chunks->shards.size(); ++shard) {
    const ShardChunks::Shard& one = chunks->shards[shard];
    const std::optional<TarIndex> index = saved.load({chunks->shard_name(shard), one.size, one.version});
    const int64_t end = shard + 1 < chunks->shards.size() ? chunks->shards[shard + 1].first_id : chunks->samples;
    if (!index || static_cast<int64_t>(index->samples.size()) != end - one.first_id) return nullptr;
    PlacesInShard found(*index, chunks->fields[field]);
    for (size_t sample = 0; sample < index->samples.size(); ++sample) places->push_back(found.find(sample));
  }
  return [chunks = std::move(chunks), places = std::move(places)](int64_t id, uint64_t bytes) -> SampleSource::Fetch {
    const ByteRange place = (*places)[static_cast<size_t>(id)];
    if (place.length == 0) return {};
    const ShardChunks::Shard& shard = chunks->shard_of(id);
    const ByteRange head = {place.offset, std::min(place.length, bytes)};
    return {chunks->store.get(), {shard.key, head, shard.size, {}}, head.length};
  };
}

}  // namespace forebay
