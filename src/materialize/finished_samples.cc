#include "materialize/finished_samples.h"

#include <algorithm>
#include <utility>

#include "base/chunk_source.h"
#include "format/materialized/encoded_picture.h"
#include "format/materialized/open_materialized.h"
#include "store/store.h"

namespace forebay {

namespace {

bool same_values(const std::vector<StoredField>& a, const std::vector<StoredField>& b) {
  const auto same = [](const StoredField& x, const StoredField& y) {
    return x.field.name == y.field.name && x.field.kind == y.field.kind && x.field.dtype == y.field.dtype &&
           x.field.shape == y.field.shape && x.encoded == y.encoded;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

Result<Value> as_stored(Value value) {
  const auto* picture = dynamic_cast<const EncodedPicture*>(value.deferred.get());
  if (picture == nullptr) return value;
  return Value{FieldKind::kTensor, Tensor{DType::kUint8, picture->shape(), {}}, picture->file(), nullptr};
}

}  // namespace

Result<FinishedSamples> FinishedSamples::open(StoreAndPath folder, const MaterializedManifest& finished,
                                              const std::vector<StoredField>& fields, const TableCodecs& codecs,
                                              std::stop_token stop) {
  FOREBAY_ASSIGN(std::shared_ptr<const Source> source, open_materialized(folder, finished, codecs, stop));
  FinishedSamples reused(std::move(source));
  if (same_values(finished.fields, fields))
    FOREBAY_RETURN_IF_ERROR(reused.read_identities_of(folder, finished, codecs, std::move(stop)));
  return reused;
}

Status FinishedSamples::read_identities_of(const StoreAndPath& folder, const MaterializedManifest& finished,
                                           const TableCodecs& codecs, std::stop_token stop) {
  const auto* chunks = source_->as_chunks();
  // The root of a bucket has an empty path, and a path may be given with its slash.
  const bool joined = folder.path.empty() || folder.path.ends_with('/');
  const std::string prefix = joined ? folder.path : folder.path + "/";
  int64_t next = 0, row = 0;
  for (size_t shard = 0; shard < finished.shards.size(); ++shard) {
    const int64_t first = next;
    row += finished.shards[shard].rows;
    if (chunks == nullptr) next = row;
    // Chunks do not cross shards: those that begin before the shard's last row belong to it.
    while (chunks != nullptr && next < chunks->chunks() && chunks->chunk_begin(next) < row) ++next;
    const ReadRequest request{.key = prefix + finished.below + identities_file(static_cast<int64_t>(shard)),
                              .range = {},
                              .expected_size = {}};
    const Result<Buffer> file = read_wait(*folder.store, request, stop);
    if (file.status().code() == Code::kCancelled) return file.status();
    const auto count = static_cast<size_t>(next - first);
    // Samples without identities are unknown, and are made again. That only costs time.
    const ShardIdentities identities = file.ok() ? read_identities(*file, count, codecs) : ShardIdentities(count);
    for (size_t i = 0; i < count; ++i)
      if (identities[i]) numbers_.emplace(*identities[i], first + static_cast<int64_t>(i));
  }
  return {};
}

std::optional<int64_t> FinishedSamples::find(const std::optional<Hash128>& identity) const {
  if (!identity) return std::nullopt;
  const auto found = numbers_.find(*identity);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Result<Record> FinishedSamples::sample(int64_t number) const {
  const SampleSource::Fetch fetch = source_->as_samples()->fetch(number);
  Buffer fetched;
  if (fetch.store != nullptr) {
    FOREBAY_ASSIGN(fetched, read_wait(*fetch.store, fetch.request, {}));
  }
  Record record;
  FOREBAY_RETURN_IF_ERROR(source_->as_samples()->load(number, std::move(fetched), record));
  for (Value& value : record) {
    FOREBAY_ASSIGN(value, as_stored(std::move(value)));
  }
  return record;
}

Result<Columns> FinishedSamples::chunk(int64_t number) const {
  const auto& chunks = *source_->as_chunks();
  const ChunkSource::ChunkFetch fetch = chunks.chunk_fetch(number);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(*fetch.store, request, {}));
    fetched.push_back(std::move(bytes));
  }
  WorkMemory memory;
  return chunks.decode(number, std::move(fetched), memory);
}

}  // namespace forebay
