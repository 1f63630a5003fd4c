#include "format/materialized/materialized_samples.h"

#include <random>

#include "format/materialized/materialized_test_support.h"

#ifdef FOREBAY_WITH_ARROW

namespace forebay {
namespace {

using namespace materialized_test;

MadeFolder folder_of(StoredFormat format, std::vector<StoredField> fields, int64_t shards = 3, int64_t each = 11) {
  MadeFolder folder(std::move(fields));
  folder.manifest.format = format;
  const bool lists = folder.manifest.fields.size() > 7;
  for (int64_t shard = 0; shard < shards; ++shard) {
    const std::vector<Record> samples = samples_of(shard * each, each, lists);
    const auto files = format == StoredFormat::kArrow
                           ? write_sample_shard(folder.manifest.fields, shard * each, samples, real_codecs())
                           : write_sample_tar(folder.manifest.fields, shard * each, samples, format, real_codecs());
    EXPECT_TRUE(files.ok()) << files.status().to_string();
    folder.put(*files, each);
  }
  return folder;
}

TEST(MaterializedSamples, EveryKindOfValueComesBackFromEveryFormat) {
  for (const StoredFormat format : {StoredFormat::kArrow, StoredFormat::kWds}) {
    const bool lists = format == StoredFormat::kArrow;
    const MadeFolder folder = folder_of(format, all_kinds(lists));
    const auto source = folder.open();
    ASSERT_TRUE(source.ok()) << source.status().to_string();
    EXPECT_EQ((*source)->size(), 33);
    for (const int64_t id : {32, 0, 10, 11, 12, 21, 22, 5}) {
      const Result<Record> record = read_sample(**source, id);
      ASSERT_TRUE(record.ok()) << record.status().to_string();
      expect_same(*record, sample_of(id, lists));
    }
  }
}

TEST(MaterializedSamples, FieldsAllInTheIndexAreReadWithoutFetchingAndOneInTheRangeLiesEndToEnd) {
  for (const size_t outside : {0, 1}) {
    std::vector<StoredField> fields{stored("a", FieldKind::kTensor, DType::kInt32, {2}), stored("b", FieldKind::kText)};
    fields[0].in_index = outside == 0;
    fields[1].in_index = true;
    std::vector<Record> samples;
    for (int64_t id = 0; id < 9; ++id) {
      samples.emplace_back();
      samples.back().push_back(Value::of(tensor_of(DType::kInt32, {2}, id)));
      samples.back().push_back(Value::of_text(buffer_of(std::string(static_cast<size_t>(id), 'x'))));
    }
    MadeFolder folder(fields);
    folder.put(*write_sample_shard(fields, 0, samples, real_codecs()), 9);
    const auto source = *folder.open();
    for (int64_t id = 0; id < 9; ++id) {
      EXPECT_EQ(source->as_samples()->fetch(id).store == nullptr, outside == 0);
      expect_same(*read_sample(*source, id), samples[static_cast<size_t>(id)]);
    }
  }
}

TEST(MaterializedSamples, PicturesThatAreStoredEncodedAreDecodedToWhatTheyWere) {
  std::vector<StoredField> fields{stored("p", FieldKind::kTensor, DType::kUint8, {Shape::kUnknown, 9, 3})};
  fields[0].encoded = true;
  std::vector<Record> pixels, files;
  for (int64_t id = 0; id < 5; ++id) {
    const Tensor picture = tensor_of(DType::kUint8, {3 + id, 9, 3}, id);
    pixels.emplace_back().push_back(Value::of(picture));
    files.emplace_back().push_back(
        {FieldKind::kTensor, Tensor{DType::kUint8, picture.shape, {}}, *encode_png(picture), nullptr});
  }
  MadeFolder folder(fields);
  folder.manifest.format = StoredFormat::kWds;
  folder.put(*write_sample_tar(fields, 0, files, StoredFormat::kWds, real_codecs()), 5);
  const auto source = *folder.open();
  for (int64_t id = 0; id < 5; ++id) expect_same(*read_sample(*source, id), pixels[static_cast<size_t>(id)]);
}

TEST(MaterializedSamples, EqualSamplesAreEqualFilesAndIdentitiesFollowThem) {
  const MadeFolder first = folder_of(StoredFormat::kArrow, all_kinds()),
                   second = folder_of(StoredFormat::kArrow, all_kinds());
  EXPECT_EQ(first.manifest.to_json(), second.manifest.to_json());
  const auto a = *first.open(), b = *second.open();
  EXPECT_EQ(a->identity(3), b->identity(3));
  EXPECT_FALSE(a->identity(3) == a->identity(4));
  EXPECT_NE(a->key(12).find("part-00001.arrow sample 1"), std::string::npos);
}

TEST(MaterializedSamples, WhatDiffersFromOthersIsToldWithItsField) {
  const std::vector<StoredField> fields = all_kinds();
  std::vector<Record> samples = samples_of(0, 3);
  samples[1][2] = Value::of(tensor_of(DType::kBool, {6}, 0));
  const auto other_shape = write_sample_shard(fields, 0, samples, real_codecs());
  EXPECT_EQ(other_shape.status().code(), Code::kInvalidArgument);
  EXPECT_NE(other_shape.status().to_string().find("'flags'"), std::string::npos);
  samples = samples_of(0, 3);
  samples[2][4] = Value::of_bytes(buffer_of("no text"));
  EXPECT_EQ(write_sample_shard(fields, 0, samples, real_codecs()).status().code(), Code::kInvalidArgument);
  samples[2][4] = Value::of_text(buffer_of("\xff\xfe"));
  EXPECT_NE(write_sample_shard(fields, 0, samples, real_codecs()).status().to_string().find("UTF-8"),
            std::string::npos);
}

TEST(MaterializedSamples, NamesThatAreTakenAreTold) {
  for (const std::string& name :
       {std::string("id"), std::string("forebay:begin"), std::string("pixels:shape"), std::string("pixels")}) {
    std::vector<StoredField> fields{stored("pixels", FieldKind::kBytes), stored(name, FieldKind::kBytes)};
    std::vector<Record> samples(1);
    for (int i = 0; i < 2; ++i) samples[0].push_back(Value::of_bytes(buffer_of("x")));
    const auto files = write_sample_shard(fields, 0, samples, real_codecs());
    EXPECT_EQ(files.status().code(), Code::kInvalidArgument) << name;
    EXPECT_NE(files.status().to_string().find(".rename()"), std::string::npos) << name;
  }
}

TEST(MaterializedSamples, TarsRefuseWhatTheyHaveNoMemberFor) {
  EXPECT_EQ(check_tar_fields(all_kinds(true)).code(), Code::kUnsupported);
  EXPECT_TRUE(check_tar_fields(all_kinds(false)).ok());
  EXPECT_EQ(check_tar_fields(std::vector{stored("a/b", FieldKind::kText)}).code(), Code::kUnsupported);
  EXPECT_EQ(check_tar_fields(std::vector{stored("a.b", FieldKind::kText)}).code(), Code::kUnsupported);
}

TEST(MaterializedSamples, WhatIsMissingOrCutOffIsNamed) {
  for (const char* name : {"made/part-00001.arrow", "made/_index/part-00001.arrow"}) {
    const MadeFolder folder = folder_of(StoredFormat::kArrow, all_kinds());
    folder.store->erase(name);
    const auto source = folder.open();
    const Status status = source.ok() ? read_sample(**source, 12).status() : source.status();
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_NE(status.to_string().find("part-00001.arrow"), std::string::npos);
    if (!source.ok()) continue;
    EXPECT_TRUE(read_sample(**source, 3).ok()) << "other shards are as they were";
  }
  const MadeFolder folder = folder_of(StoredFormat::kArrow, all_kinds());
  folder.store->put("made/_index/part-00000.arrow", std::string_view("short"));
  EXPECT_FALSE(folder.open().ok());
  folder.store->erase("made/_manifest.json");
  EXPECT_NE(folder.open().status().to_string().find("run the same command"), std::string::npos);
}

// Malicious indices with valid checksums, as an attacker who writes both could make them.
TEST(MaterializedSamples, IndicesThatLieGiveAStatusAndNeverOtherMemory) {
  MadeFolder folder = folder_of(StoredFormat::kArrow, all_kinds(), 1, 20);
  const Buffer index =
      *read_wait(*folder.store, {.key = "made/_index/part-00000.arrow", .range = {}, .expected_size = {}}, {});
  std::mt19937 random(4);
  for (int i = 0; i < 400; ++i) {
    Buffer lying = Buffer::allocate(index.size());
    std::memcpy(lying.data(), index.data(), index.size());
    for (int flips = 0; flips <= i % 3; ++flips)
      lying.data()[random() % lying.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    folder.store->put("made/_index/part-00000.arrow", lying);
    folder.manifest.shards[0].index_checksum = hash128(lying.data(), lying.size());
    folder.store->put("made/_manifest.json", folder.manifest.to_json());
    const auto source = folder.open();
    if (!source.ok()) continue;
    for (int64_t id = 0; id < 20; ++id) (void)read_sample(**source, id);
  }
}

TEST(MaterializedSamples, AFlippedBitIsTheSamplesOwn) {
  for (const StoredFormat format : {StoredFormat::kArrow, StoredFormat::kWds}) {
    const bool lists = format == StoredFormat::kArrow;
    MadeFolder folder = folder_of(format, all_kinds(lists), 1, 20);
    const auto source = *folder.open();
    const SampleSource::Fetch fetch = source->as_samples()->fetch(7);
    const std::string key = "made/" + shard_file(0, format);
    const Buffer whole = *read_wait(*folder.store, {.key = key, .range = {}, .expected_size = {}}, {});
    Buffer flipped = Buffer::allocate(whole.size());
    std::memcpy(flipped.data(), whole.data(), whole.size());
    flipped.data()[fetch.request.range->offset + 1] ^= 0x20;
    folder.store->put(key, flipped);
    const Status status = read_sample(*source, 7).status();
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.to_string().find("sample 7"), std::string::npos) << status.to_string();
    for (const int64_t id : {6, 8, 0, 19}) EXPECT_TRUE(read_sample(*source, id).ok());
  }
}

}  // namespace
}  // namespace forebay

#endif
