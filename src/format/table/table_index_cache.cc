#include "format/table/table_index_cache.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "format/files/key_table.h"

namespace forebay {

namespace {

/// One number for each group and field.
class PerField {
 public:
  PerField() = default;
  explicit PerField(const std::vector<uint64_t>& values)
      : values_(values.size(), values.empty() ? 0 : *std::ranges::max_element(values)) {
    for (const uint64_t value : values) values_.push_back(value);
  }
  uint64_t at(size_t index) const { return values_[index]; }
  uint64_t bytes() const { return values_.bytes(); }

 private:
  PackedInts values_;
};

/// Saturating sum, because damaged files may claim any size.
uint64_t sum(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

class CachedTable final : public TableFile {
 public:
  CachedTable(std::shared_ptr<TableIndexCache> cache, std::shared_ptr<const StoredIndex> index, const TableFile& open,
              std::span<const std::string> bounded)
      : cache_(std::move(cache)), index_(std::move(index)), shape_(cache_->shape_of(open)),
        bounded_(bounded.begin(), bounded.end()) {
    std::vector<uint64_t> fetched, decoded;
    for (int64_t group = 0; group < open.groups(); ++group) {
      rows_.push_back(open.rows(group));
      for (size_t field = 0; field < shape_->schema.size(); ++field) {
        const ChunkCost cost = open.cost(group, std::span(&field, 1));
        // Stored field by field, so that the cost of any selection is a sum and needs no opened
        // index.
        fetched.push_back(cost.fetched_bytes);
        decoded.push_back(cost.decoded_bytes);
      }
    }
    fetched_ = PerField(fetched);
    decoded_ = PerField(decoded);
    for (const std::string& name : bounded) {
      const auto field = shape_->schema.find(name);
      if (!field) continue;
      for (int64_t group = 0; group < open.groups(); ++group) bounds_[*field].push_back(open.bounds(group, *field));
    }
  }

  const Schema& schema() const override { return shape_->schema; }
  std::vector<std::pair<std::string, std::string>> unmapped() const override { return shape_->unmapped; }
  std::optional<TimeType> time_type(size_t field) const override { return shape_->times[field]; }
  Status field_status(size_t field) const override { return shape_->statuses[field]; }
  bool is_mask(size_t field) const override { return shape_->masks[field]; }
  Origin origin(size_t field) const override { return shape_->origins[field]; }
  Result<std::shared_ptr<const TableFile>> with_reading(const TableReading& reading) const override {
    std::shared_ptr<TableIndexCache> cache = cache_->with_types(reading);
    FOREBAY_ASSIGN(auto open, cache->open(*index_));
    return with_cached_index(std::move(cache), index_, std::move(open), bounded_);
  }
  int64_t groups() const override { return static_cast<int64_t>(rows_.size()); }
  int64_t rows(int64_t group) const override { return rows_[static_cast<size_t>(group)]; }

  ChunkCost cost(int64_t group, std::span<const size_t> fields) const override {
    ChunkCost cost;
    for (const size_t field : fields) {
      const size_t index = static_cast<size_t>(group) * shape_->schema.size() + field;
      cost.fetched_bytes = sum(cost.fetched_bytes, fetched_.at(index));
      cost.decoded_bytes = sum(cost.decoded_bytes, decoded_.at(index));
    }
    return cost;
  }

  FieldBounds bounds(int64_t group, size_t field) const override {
    if (const auto known = bounds_.find(field); known != bounds_.end())
      return known->second[static_cast<size_t>(group)];
    const auto open = cache_->get(index_);
    return open.ok() ? (*open)->bounds(group, field) : FieldBounds();
  }

  // An index that was opened once can be opened again. If that fails, decode() reports the error.
  std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override {
    const auto open = cache_->get(index_);
    return open.ok() ? (*open)->ranges(group, fields) : std::vector<ByteRange>();
  }

  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory& memory) const override {
    FOREBAY_ASSIGN(const auto open, cache_->get(index_));
    return open->decode(group, fields, pieces, memory);
  }

  uint64_t index_bytes() const override {
    uint64_t bytes =
        sizeof(*this) + index_->bytes() + rows_.capacity() * sizeof(int64_t) + fetched_.bytes() + decoded_.bytes();
    for (const auto& [field, bounds] : bounds_) bytes += bounds.capacity() * sizeof(FieldBounds);
    return bytes;
  }

 private:
  const std::shared_ptr<TableIndexCache> cache_;
  const std::shared_ptr<const StoredIndex> index_;
  const std::shared_ptr<const TableShape> shape_;
  const std::vector<std::string> bounded_;
  std::vector<int64_t> rows_;
  PerField fetched_, decoded_;  ///< group after group
  std::map<size_t, std::vector<FieldBounds>> bounds_;
};

}  // namespace

Result<TableIndexCache::Open> TableIndexCache::get(const std::shared_ptr<const StoredIndex>& index) const {
  {
    const Lock lock(mutex_);
    if (const auto found = entries_.find(index.get()); found != entries_.end()) {
      // Moves the entry to the front. Iterators in entries_ stay valid.
      open_.splice(open_.begin(), open_, found->second);
      return found->second->open;
    }
  }
  // Without the lock, so that other threads continue. Two threads that open the same index do no
  // harm.
  FOREBAY_ASSIGN(Open opened, open(*index));
  put(index.get(), opened);
  return opened;
}

void TableIndexCache::put(const StoredIndex* index, Open open) const {
  std::vector<Open> evicted;  // destroyed after the lock is released
  const Lock lock(mutex_);
  if (entries_.contains(index)) return;
  open_.push_front({index, std::move(open), 0});
  open_.front().bytes = open_.front().open->index_bytes();
  bytes_ += open_.front().bytes;
  entries_[index] = open_.begin();
  // The entry just added stays, however large, because nothing could be decoded without it.
  while (bytes_ > budget_bytes_ && open_.size() > 1) {
    bytes_ -= open_.back().bytes;
    entries_.erase(open_.back().index);
    evicted.push_back(std::move(open_.back().open));
    open_.pop_back();
  }
}

std::shared_ptr<const TableShape> TableIndexCache::shape_of(const TableFile& file) {
  TableShape shape{file.schema(), file.unmapped(), {}, {}, {}, {}};
  std::string text;
  for (size_t i = 0; i < shape.schema.size(); ++i) {
    shape.times.push_back(file.time_type(i));
    const TableFile::TimeType time = shape.times.back().value_or(TableFile::TimeType());
    shape.statuses.push_back(file.field_status(i));
    shape.masks.push_back(file.is_mask(i));
    shape.origins.push_back(file.origin(i));
    // Lengths precede names, which may contain anything, so different shapes have different texts.
    text += fmt::format("{}:{} {} {} {} {}\n", shape.schema[i].name.size(), shape.schema[i].to_string(),
                        time.ticks_per_day, time.since_1970, file.is_mask(i), shape.statuses.back().message());
    const TableFile::Origin& origin = shape.origins.back();
    text += fmt::format("{} {} {} {}", origin.values, origin.untyped, origin.in_lists, origin.structs.size());
    for (const std::string& name : origin.structs) text += fmt::format(" {}:{}", name.size(), name);
    text += "\n";
  }
  for (const auto& [name, why] : shape.unmapped)
    text += fmt::format("{}:{} {}:{}\n", name.size(), name, why.size(), why);
  const Lock lock(mutex_);
  auto& known = shapes_[text];
  if (!known) known = std::make_shared<const TableShape>(std::move(shape));
  return known;
}

std::shared_ptr<TableIndexCache> TableIndexCache::with_types(const TableReading& reading) {
  const Lock lock(mutex_);
  auto& other = by_types_[column_types_text(reading.types)];
  if (!other) other = std::make_shared<TableIndexCache>(codec_, reading, budget_bytes_);
  return other;
}

uint64_t TableIndexCache::open_bytes() const {
  const Lock lock(mutex_);
  uint64_t bytes = bytes_;
  for (const auto& [types, other] : by_types_) bytes += other->open_bytes();
  return bytes;
}

std::shared_ptr<const TableFile> with_cached_index(std::shared_ptr<TableIndexCache> cache,
                                                   std::shared_ptr<const StoredIndex> index,
                                                   std::shared_ptr<const TableFile> open,
                                                   std::span<const std::string> bounded) {
  auto shelved = std::make_shared<CachedTable>(cache, index, *open, bounded);
  cache->put(index.get(), std::move(open));
  return shelved;
}

}  // namespace forebay
