#include "format/megatron/index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"

namespace forebay::megatron_test {
namespace {

/// The numbers of an .idx file: two documents, of 3 + 1 and of 2 tokens.
struct Given {
  std::string magic = std::string("MMIDIDX\0\0", 9);
  uint64_t version = 1;
  uint8_t code = 4;  // int32
  std::vector<int32_t> lengths = {3, 1, 2};
  std::vector<int64_t> pointers = {0, 12, 16};
  std::vector<int64_t> documents = {0, 2, 3};
  std::vector<int8_t> modes = {};

  std::string bytes() const {
    ByteWriter out;
    for (const char c : magic) out.put(c);
    out.put(version);
    out.put(code);
    out.put(uint64_t{lengths.size()});
    out.put(uint64_t{documents.size()});
    for (const int32_t length : lengths) out.put(length);
    for (const int64_t pointer : pointers) out.put(pointer);
    for (const int64_t document : documents) out.put(document);
    for (const int8_t mode : modes) out.put(mode);
    return out.bytes();
  }
};

Result<MegatronIndex> parse(const std::string& bytes, MegatronUnit unit = MegatronUnit::kDocument, uint64_t bin = 24) {
  // On the heap, so that a sanitizer notices a read past the end.
  const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  return parse_megatron_index(copy, bin, unit);
}

TEST(MegatronIndex, documents_join_their_sequences) {
  const MegatronIndex index = parse(Given().bytes()).value();
  EXPECT_EQ(index.dtype, DType::kInt32);
  EXPECT_EQ(index.begins, (std::vector<uint64_t>{0, 16}));
  EXPECT_EQ(index.lengths, (std::vector<uint32_t>{4, 2}));
  EXPECT_EQ(index.bytes_of(0), 16u);
}

TEST(MegatronIndex, sequences_are_as_they_are_stored_and_have_modes) {
  const Given given{.modes = {0, 1, -1}};
  const MegatronIndex index = parse(given.bytes(), MegatronUnit::kSequence).value();
  EXPECT_EQ(index.begins, (std::vector<uint64_t>{0, 12, 16}));
  EXPECT_EQ(index.lengths, (std::vector<uint32_t>{3, 1, 2}));
  EXPECT_EQ(index.modes, (std::vector<int8_t>{0, 1, -1}));
  EXPECT_TRUE(parse(given.bytes()).value().modes.empty()) << "a document has a mode for each sequence";
}

TEST(MegatronIndex, documents_may_be_empty) {
  const Given given{.lengths = {3}, .pointers = {0}, .documents = {0, 0, 1, 1}};
  EXPECT_EQ(parse(given.bytes()).value().lengths, (std::vector<uint32_t>{0, 3, 0}));
  EXPECT_EQ(parse(Given{.lengths = {}, .pointers = {}, .documents = {0}}.bytes()).value().size(), 0);
}

TEST(MegatronIndex, every_type_of_the_format_is_known) {
  const DType types[] = {DType::kUint8, DType::kInt8,    DType::kInt16,   DType::kInt32,
                         DType::kInt64, DType::kFloat64, DType::kFloat32, DType::kUint16};
  for (uint8_t code = 1; code <= 8; ++code) {
    const Given given{.code = code, .lengths = {1}, .pointers = {0}, .documents = {0, 1}};
    EXPECT_EQ(parse(given.bytes()).value().dtype, types[code - 1]) << int{code};
  }
}

struct Damage {
  const char* what;
  Given given;
  Code code;
  std::string words;
};

std::vector<Damage> damages() {
  return {
      {"magic", {.magic = "MMIDIDX\0\1"}, Code::kCorrupt, "the .idx file of a Megatron data set"},
      {"version", {.version = 2}, Code::kUnsupported, "version 2 of the format; known is 1"},
      {"dtype", {.code = 9}, Code::kUnsupported, "dtype code 9; known are 1 to 8"},
      {"length", {.lengths = {3, -1, 2}}, Code::kCorrupt, "sequence 1 has -1 tokens"},
      {"negative pointer", {.pointers = {-4, 12, 16}}, Code::kCorrupt, "sequence 0 has 12 bytes from byte -4 on"},
      {"pointer",
       {.pointers = {0, 12, 24}},
       Code::kCorrupt,
       "sequence 2 has 8 bytes from byte 24 on, and the .bin file has 24 bytes"},
      {"first document", {.documents = {1, 2, 3}}, Code::kCorrupt, "document 0 begins at sequence 1"},
      {"order", {.documents = {0, 3, 2}}, Code::kCorrupt, "document 2 begins at sequence 2, and the one before at 3"},
      {"end", {.documents = {0, 2}}, Code::kCorrupt, "its last document at sequence 2, and there are 3"},
      {"beyond", {.documents = {0, 2, 9}}, Code::kCorrupt, "its last document at sequence 9, and there are 3"},
      {"no documents", {.documents = {}}, Code::kCorrupt, "no document indices"},
      {"pieces",
       {.pointers = {0, 8, 16}},
       Code::kUnsupported,
       "document 0 in pieces: sequence 1 begins at byte 8, and the one before it ends at byte 12"}};
}

TEST(MegatronIndex, what_is_damaged_is_told_with_its_numbers) {
  for (const Damage& damage : damages()) {
    const auto index = parse(damage.given.bytes());
    EXPECT_EQ(index.status().code(), damage.code) << damage.what << ": " << index.status().to_string();
    EXPECT_NE(index.status().message().find(damage.words), std::string::npos)
        << damage.what << ": " << index.status().message();
  }
}

TEST(MegatronIndex, no_truncated_file_is_read) {
  const std::string whole = Given{.modes = {0, 1, 2}}.bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size == whole.size() - 3) continue;  // without its modes the file is whole
    EXPECT_FALSE(parse(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(parse(whole + "x").ok());
}

TEST(MegatronIndex, counts_that_overflow_are_not_believed) {
  std::string bytes = Given().bytes();
  for (const size_t at : {size_t{18}, size_t{26}}) {
    for (const uint64_t count : {UINT64_MAX, UINT64_MAX / 12 + 1, uint64_t{1} << 61}) {
      std::string damaged = bytes;
      std::memcpy(damaged.data() + at, &count, sizeof count);
      EXPECT_EQ(parse(damaged).status().code(), Code::kCorrupt) << at << " " << count;
    }
  }
}

}  // namespace
}  // namespace forebay::megatron_test
