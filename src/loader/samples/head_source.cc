#include "loader/samples/head_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/chunk_source.h"
#include "base/columns.h"
#include "store/store.h"

namespace forebay {

namespace {

/// Objects, one a sample, of which only the beginnings are read.
class HeadsOfSamples final : public SampleSource {
 public:
  explicit HeadsOfSamples(ValueHeads heads) : heads_(std::move(heads)), schema_({whole().schema()[heads_.field]}) {}

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return whole().size(); }
  Hash128 version() const override { return whole().version(); }
  uint64_t index_bytes() const override { return whole().index_bytes() + heads_.places.memory_bytes; }
  std::string key(int64_t id) const override { return whole().key(id); }
  Fetch fetch(int64_t id) const override { return heads_.places(id, heads_.bytes); }
  Status load(int64_t /*id*/, Buffer fetched, Record& record) const override {
    record.clear();
    record.push_back(Value::of_bytes(std::move(fetched)));
    return {};
  }

 private:
  const Source& whole() const { return *heads_.whole; }

  const ValueHeads heads_;
  const Schema schema_;
};

/// Two beginnings with fewer bytes between them are one read. A request to a remote store takes as
/// long as that many bytes; from a disk they are read ahead.
uint64_t most_bytes_between(const Store& store) { return store.remote() ? uint64_t{64} << 10 : uint64_t{16} << 10; }

uint64_t end_of(const ByteRange& range) { return range.offset + range.length; }

/// The beginnings of values that lie in chunks, in as few reads as come from one place.
class HeadsInChunks final : public ChunkSource {
 public:
  explicit HeadsInChunks(ValueHeads heads) : heads_(std::move(heads)), schema_({whole().schema()[heads_.field]}) {
    if (chunks() > 0) store_ = whole().chunk_fetch(0).store;
    for (int64_t chunk = 0; chunk < chunks(); ++chunk) costs_.push_back(cost_of(chunk));
  }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return whole().size(); }
  Hash128 version() const override { return whole().version(); }
  uint64_t index_bytes() const override {
    return whole().index_bytes() + heads_.places.memory_bytes + costs_.size() * sizeof(ChunkCost);
  }
  std::string key(int64_t id) const override { return whole().key(id); }

  int64_t chunks() const override { return whole().chunks(); }
  int64_t chunk_begin(int64_t chunk) const override { return whole().chunk_begin(chunk); }
  std::string chunk_name(int64_t chunk) const override { return whole().chunk_name(chunk); }
  std::optional<Hash128> chunk_identity(int64_t /*chunk*/) const override { return std::nullopt; }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> /*names*/) const override {
    return std::shared_ptr<const ChunkSource>(std::make_shared<HeadsInChunks>(*this));
  }

  ChunkCost chunk_cost(int64_t chunk) const override { return costs_[static_cast<size_t>(chunk)]; }

  ChunkFetch chunk_fetch(int64_t chunk) const override { return {store_, reads_of(chunk).requests}; }

  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& /*memory*/) const override {
    Reads reads = reads_of(chunk);
    std::ranges::sort(reads.heads, {}, &Head::id);
    uint64_t bytes = 0;
    for (const Head& head : reads.heads) bytes += head.length;
    Columns columns;
    columns.schema = schema_;
    columns.rows = chunk_begin(chunk + 1) - chunk_begin(chunk);
    ColumnValues values = {Buffer::allocate(bytes),
                           Buffer::allocate(static_cast<size_t>(columns.rows + 1) * sizeof(int64_t))};
    auto* offset = reinterpret_cast<int64_t*>(values.offsets.data());
    *offset = 0;
    auto head = reads.heads.cbegin();
    for (int64_t id = chunk_begin(chunk); id < chunk_begin(chunk + 1); ++id, ++offset) {
      offset[1] = offset[0];
      if (head == reads.heads.cend() || head->id != id) continue;
      const Buffer& from = fetched[head->request];
      if (from.size() < head->offset + head->length) return internal_error("a chunk's read gave another length");
      std::memcpy(values.values.data() + offset[0], from.data() + head->offset, head->length);
      offset[1] += static_cast<int64_t>(head++->length);
    }
    columns.values.push_back(std::move(values));
    return columns;
  }

 private:
  struct Head {
    int64_t id = 0;
    size_t request = 0;
    uint64_t offset = 0, length = 0;  // in the bytes of the request
  };
  struct Reads {
    std::vector<ReadRequest> requests;
    std::vector<Head> heads;
  };

  const ChunkSource& whole() const { return *heads_.whole->as_chunks(); }

  // The places of the chunk's selected samples, in the order in which they are stored.
  std::vector<std::pair<int64_t, SampleSource::Fetch>> places_of(int64_t chunk) const {
    std::vector<std::pair<int64_t, SampleSource::Fetch>> places;
    const Selection& selected = *heads_.selected;
    for (int64_t at = selected_before(selected, chunk_begin(chunk)); at < selected.size(); ++at) {
      const int64_t id = selected.id_at(at);
      if (id >= chunk_begin(chunk + 1)) break;
      SampleSource::Fetch place = heads_.places(id, heads_.bytes);
      if (place.store != nullptr) places.emplace_back(id, std::move(place));
    }
    std::ranges::sort(places, {}, [](const auto& place) { return place.second.request.range->offset; });
    return places;
  }

  Reads reads_of(int64_t chunk) const {
    Reads reads;
    for (auto& [id, place] : places_of(chunk)) {
      const ByteRange range = *place.request.range;
      if (reads.requests.empty() ||
          range.offset > end_of(*reads.requests.back().range) + most_bytes_between(*place.store))
        reads.requests.push_back(std::move(place.request));
      ByteRange& read = *reads.requests.back().range;
      read.length = std::max(end_of(read), end_of(range)) - read.offset;
      reads.heads.push_back({id, reads.requests.size() - 1, range.offset - read.offset, range.length});
    }
    return reads;
  }

  ChunkCost cost_of(int64_t chunk) const {
    const Reads reads = reads_of(chunk);
    const auto rows = static_cast<uint64_t>(chunk_begin(chunk + 1) - chunk_begin(chunk));
    ChunkCost cost = {0, (rows + 1) * sizeof(int64_t)};
    for (const ReadRequest& request : reads.requests) cost.fetched_bytes += request.range->length;
    for (const Head& head : reads.heads) cost.decoded_bytes += head.length;
    return cost;
  }

  const ValueHeads heads_;
  const Schema schema_;
  Store* store_ = nullptr;        // also of chunks without a place
  std::vector<ChunkCost> costs_;  // of each chunk, since runs ask for it under a lock
};

}  // namespace

std::shared_ptr<const Source> ValueHeads::open() const {
  if (whole->as_chunks() != nullptr) return std::make_shared<HeadsInChunks>(*this);
  return std::make_shared<HeadsOfSamples>(*this);
}

}  // namespace forebay
