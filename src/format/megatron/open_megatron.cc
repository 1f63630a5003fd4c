#include "format/megatron/open_megatron.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/known_lengths.h"

namespace forebay {

namespace {

Schema fields_of(const MegatronIndex& index) {
  Field tokens;
  tokens.name = "tokens";
  tokens.dtype = index.dtype;
  tokens.shape = {Shape::kUnknown};
  tokens.fetched = true;
  Schema schema({tokens});
  if (index.modes.empty()) return schema;
  Field mode;
  mode.name = "mode";
  mode.dtype = DType::kInt8;
  schema.push_back(std::move(mode));
  return schema;
}

class MegatronSource final : public SampleSource, public KnownLengths {
 public:
  MegatronSource(std::shared_ptr<Store> store, ObjectInfo bin, MegatronIndex index, MegatronUnit unit,
                 const Hash128& version)
      : store_(std::move(store)), bin_(std::move(bin)), index_(std::move(index)), unit_(unit), version_(version),
        schema_(fields_of(index_)) {}

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return index_.size(); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override { return index_.memory_bytes(); }
  std::string key(int64_t id) const override {
    return fmt::format("{} {} {}", store_->display_name(bin_.key),
                       unit_ == MegatronUnit::kDocument ? "document" : "sequence", id);
  }
  std::optional<Identity> identity(int64_t id) const override;
  Fetch fetch(int64_t id) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  bool knows_lengths(size_t field) const override { return field != kMode; }
  int64_t length(size_t, int64_t id) const override { return index_.lengths[static_cast<size_t>(id)]; }
  bool gathers(size_t field) const override { return field == kMode; }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

 private:
  static constexpr size_t kMode = 1;  ///< index of the field

  const std::shared_ptr<Store> store_;
  const ObjectInfo bin_;
  const MegatronIndex index_;
  const MegatronUnit unit_;
  const Hash128 version_;
  const Schema schema_;
};

std::optional<Identity> MegatronSource::identity(int64_t id) const {
  if (bin_.version == 0) return std::nullopt;
  Hasher hasher;
  hasher.update(store_->display_name(bin_.key));
  for (const uint64_t number : {bin_.size, bin_.version, index_.begins[static_cast<size_t>(id)], index_.bytes_of(id)})
    hasher.update_value(number);
  hasher.update(dtype_name(index_.dtype));
  if (!index_.modes.empty()) hasher.update_value(index_.modes[static_cast<size_t>(id)]);
  return Identity(hasher.digest());
}

SampleSource::Fetch MegatronSource::fetch(int64_t id) const {
  // A store may refuse empty reads. The .bin file has at least one byte.
  const uint64_t bytes = std::max<uint64_t>(index_.bytes_of(id), 1);
  const uint64_t begin = std::min(index_.begins[static_cast<size_t>(id)], bin_.size - bytes);
  Fetch fetch{store_.get(), {.key = bin_.key, .range = ByteRange{begin, bytes}, .expected_size = bin_.size}, bytes};
  return fetch;
}

Status MegatronSource::load(int64_t id, Buffer fetched, Record& record) const {
  record.clear();
  const uint64_t bytes = index_.bytes_of(id);
  if (!fetched.owner()) {  // nobody wants the tokens
    record.emplace_back();
  } else if (fetched.size() < bytes) {
    return corrupt(fmt::format("has {} bytes where the index says {}", fetched.size(), bytes)).with_key(key(id));
  } else {
    const auto length = static_cast<int64_t>(index_.lengths[static_cast<size_t>(id)]);
    record.push_back(Value::of(Tensor{index_.dtype, Shape{length}, fetched.slice(0, bytes)}));
  }
  if (index_.modes.empty()) return {};
  Tensor mode = Tensor::allocate(DType::kInt8, Shape{});
  *mode.data<int8_t>() = index_.modes[static_cast<size_t>(id)];
  record.push_back(Value::of(std::move(mode)));
  return {};
}

Status MegatronSource::gather(size_t, std::span<const int64_t> ids, uint8_t* out) const {
  for (const int64_t id : ids) *out++ = static_cast<uint8_t>(index_.modes[static_cast<size_t>(id)]);
  return {};
}

Result<ObjectInfo> find_file(Store& store, const std::string& key, std::stop_token stop) {
  Result<ObjectInfo> found = stat_wait(store, key, std::move(stop));
  if (found.ok() || found.status().code() != Code::kNotFound) return found;
  return not_found(
      fmt::format("there is no {}; a Megatron data set is two files, and its prefix is their path without "
                  ".bin and .idx",
                  store.display_name(key)));
}

Hash128 version_of_files(const Buffer& index, uint64_t bin_bytes, MegatronUnit unit) {
  Hasher hasher;
  hasher.update(index.data(), index.size());
  hasher.update_value(bin_bytes);
  hasher.update(unit == MegatronUnit::kDocument ? "document" : "sequence");
  return hasher.digest();
}

}  // namespace

Result<std::shared_ptr<const Source>> open_megatron(const StoreAndPath& place, MegatronUnit unit,
                                                    std::stop_token stop) {
  Store& store = *place.store;
  const std::string index_key = place.path + ".idx";
  FOREBAY_ASSIGN(const ObjectInfo index_info, find_file(store, index_key, stop));
  FOREBAY_ASSIGN(ObjectInfo bin, find_file(store, place.path + ".bin", stop));
  bin.key = place.path + ".bin";
  FOREBAY_ASSIGN(const Buffer bytes,
                 read_wait(store, {.key = index_key, .range = {}, .expected_size = index_info.size}, stop));
  Result<MegatronIndex> index = parse_megatron_index(bytes.span(), bin.size, unit);
  if (!index.ok()) return index.status().with_key(store.display_name(index_key));
  if (std::ranges::all_of(index->lengths, [](uint32_t length) { return length == 0; }))
    return invalid_argument("holds no token").with_key(store.display_name(index_key));
  const Hash128 version = version_of_files(bytes, bin.size, unit);
  return std::shared_ptr<const Source>(
      std::make_shared<MegatronSource>(place.store, std::move(bin), *std::move(index), unit, version));
}

}  // namespace forebay
