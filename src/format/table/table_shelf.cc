#include "format/table/table_shelf.h"

#include <zstd.h>

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

class ShelvedTable final : public TableFile {
 public:
  ShelvedTable(std::shared_ptr<TableShelf> shelf, std::shared_ptr<const StoredIndex> index, const TableFile& open,
               std::span<const std::string> bounded)
      : shelf_(std::move(shelf)), index_(std::move(index)), shape_(shelf_->shape_of(open)),
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
    std::shared_ptr<TableShelf> shelf = shelf_->with_types(reading);
    FOREBAY_ASSIGN(auto open, shelf->open(*index_));
    return put_on_shelf(std::move(shelf), index_, std::move(open), bounded_);
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
    const auto open = shelf_->get(index_);
    return open.ok() ? (*open)->bounds(group, field) : FieldBounds();
  }

  // An index that was opened once can be opened again. If that fails, decode() reports the error.
  std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override {
    const auto open = shelf_->get(index_);
    return open.ok() ? (*open)->ranges(group, fields) : std::vector<ByteRange>();
  }

  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory& memory) const override {
    FOREBAY_ASSIGN(const auto open, shelf_->get(index_));
    return open->decode(group, fields, pieces, memory);
  }

  uint64_t index_bytes() const override {
    uint64_t bytes =
        sizeof(*this) + index_->bytes() + rows_.capacity() * sizeof(int64_t) + fetched_.bytes() + decoded_.bytes();
    for (const auto& [field, bounds] : bounds_) bytes += bounds.capacity() * sizeof(FieldBounds);
    return bytes;
  }

 private:
  const std::shared_ptr<TableShelf> shelf_;
  const std::shared_ptr<const StoredIndex> index_;
  const std::shared_ptr<const TableShape> shape_;
  const std::vector<std::string> bounded_;
  std::vector<int64_t> rows_;
  PerField fetched_, decoded_;  ///< group after group
  std::map<size_t, std::vector<FieldBounds>> bounds_;
};

}  // namespace

StoredIndex::StoredIndex(const Buffer& tail, std::span<const TableFile::Piece> more, uint64_t file_size)
    : tail_bytes_(tail.size()), file_size_(file_size) {
  std::string all(reinterpret_cast<const char*>(tail.data()), tail.size());
  for (const TableFile::Piece& piece : more) {
    places_.push_back({piece.offset, piece.bytes.size()});
    all.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
  }
  all_bytes_ = all.size();
  // The fast level: footers shrink to a fraction at any level, and each is unpacked many times.
  packed_.resize(ZSTD_compressBound(all.size()));
  const size_t size = ZSTD_compress(packed_.data(), packed_.size(), all.data(), all.size(), 1);
  // A constructor cannot return an error. open() fails instead, because the empty data does not
  // unpack.
  packed_ = ZSTD_isError(size) ? std::string() : packed_.substr(0, size);
  packed_.shrink_to_fit();
}

Result<std::shared_ptr<const TableFile>> StoredIndex::open(const TableCodec& codec, const TableReading& reading) const {
  Buffer all = Buffer::allocate(all_bytes_);
  const size_t size = ZSTD_decompress(all.data(), all.size(), packed_.data(), packed_.size());
  if (ZSTD_isError(size) || size != all_bytes_) return internal_error("a table's index was not kept");
  std::vector<TableFile::Piece> more;
  uint64_t begin = tail_bytes_;
  for (const ByteRange& place : places_) {
    more.push_back({place.offset, all.slice(begin, place.length)});
    begin += place.length;
  }
  return codec.open(all.slice(0, tail_bytes_), file_size_, reading, more);
}

Result<TableShelf::Open> TableShelf::get(const std::shared_ptr<const StoredIndex>& index) const {
  {
    const Lock lock(mutex_);
    if (const auto found = places_.find(index.get()); found != places_.end()) {
      // Moves the entry to the front. Iterators in places_ stay valid.
      kept_.splice(kept_.begin(), kept_, found->second);
      return found->second->open;
    }
  }
  // Without the lock, so that other threads continue. Two threads that open the same index do no
  // harm.
  FOREBAY_ASSIGN(Open opened, open(*index));
  put(index.get(), opened);
  return opened;
}

void TableShelf::put(const StoredIndex* index, Open open) const {
  std::vector<Open> away;  // destroyed after the lock is released
  const Lock lock(mutex_);
  if (places_.contains(index)) return;
  kept_.push_front({index, std::move(open), 0});
  kept_.front().bytes = kept_.front().open->index_bytes();
  bytes_ += kept_.front().bytes;
  places_[index] = kept_.begin();
  // The entry just added stays, however large, because nothing could be decoded without it.
  while (bytes_ > budget_bytes_ && kept_.size() > 1) {
    bytes_ -= kept_.back().bytes;
    places_.erase(kept_.back().index);
    away.push_back(std::move(kept_.back().open));
    kept_.pop_back();
  }
}

std::shared_ptr<const TableShape> TableShelf::shape_of(const TableFile& file) {
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

std::shared_ptr<TableShelf> TableShelf::with_types(const TableReading& reading) {
  const Lock lock(mutex_);
  auto& other = others_[column_types_text(reading.types)];
  if (!other) other = std::make_shared<TableShelf>(codec_, reading, budget_bytes_);
  return other;
}

uint64_t TableShelf::open_bytes() const {
  const Lock lock(mutex_);
  uint64_t bytes = bytes_;
  for (const auto& [types, other] : others_) bytes += other->open_bytes();
  return bytes;
}

std::shared_ptr<const TableFile> put_on_shelf(std::shared_ptr<TableShelf> shelf,
                                              std::shared_ptr<const StoredIndex> index,
                                              std::shared_ptr<const TableFile> open,
                                              std::span<const std::string> bounded) {
  auto shelved = std::make_shared<ShelvedTable>(shelf, index, *open, bounded);
  shelf->put(index.get(), std::move(open));
  return shelved;
}

}  // namespace forebay
