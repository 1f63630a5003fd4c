#include "cluster/entry_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "cluster/transport_conformance.h"

namespace forebay {

namespace {

using EntryState = ResponseItem::State;

/// A request and the entries that a host has for it, drawn from a seed.
struct EntryExchange {
  std::vector<EntryRequest> wanted;
  std::vector<FoundItem> found;

  Buffer response() const { return joined(encode_entry_response(wanted, found)); }
};

EntryExchange exchange_of(uint64_t seed) {
  std::mt19937_64 random(seed);
  EntryExchange made;
  const size_t entries = random() % 12;
  for (size_t i = 0; i < entries; ++i) {
    const uint64_t size = random() % 300;
    EntryRequest wanted{{random(), random()}, random() % 4 == 0 ? size / 2 : size + random() % 3};
    if (random() % 2 == 0) wanted.element = static_cast<int64_t>(random() >> 1);
    if (random() % 2 == 0) wanted.kind = EntryRequest::Kind::kVersion;
    made.wanted.push_back(wanted);
    if (random() % 3 == 0) {
      made.found.emplace_back();
      if (random() % 2 == 0) made.found.back().coming = random();
      continue;
    }
    Buffer body = Buffer::allocate(size);
    for (uint64_t b = 0; b < size; ++b) body.data()[b] = static_cast<uint8_t>(random());
    made.found.push_back({std::move(body), random() % 2});
  }
  return made;
}

bool same_bytes(const Buffer& a, const Buffer& b) { return std::ranges::equal(a.span(), b.span()); }

Buffer copy_of(const Buffer& bytes, size_t size) {
  Buffer copy = Buffer::allocate(size);
  std::memset(copy.data(), 0, size);
  std::memcpy(copy.data(), bytes.data(), std::min(size, bytes.size()));
  return copy;
}

/// Returns the same message with other fields and their checksum.
Buffer with_fields(const Buffer& message, std::string_view fields) {
  MessageFields out({reinterpret_cast<const char*>(message.data()), 8});
  for (const char byte : fields) out.put(byte);
  return out.done();
}

}  // namespace

TEST(EntryMessages, RequestsComeBackAsTheyWere) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const EntryExchange made = exchange_of(seed);
    const auto parsed = parse_entry_request(encode_entry_request(made.wanted).span());
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    EXPECT_EQ(*parsed, made.wanted);
  }
}

TEST(EntryMessages, ResponsesComeBackAsTheyWere) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const EntryExchange made = exchange_of(seed);
    const Buffer response = made.response();
    EXPECT_LE(response.size(), max_entry_response_bytes(made.wanted));
    const auto parsed = parse_entry_response(made.wanted, response);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    for (size_t i = 0; i < parsed->size(); ++i) {
      const ResponseItem& item = (*parsed)[i];
      if (!made.found[i].body) {
        EXPECT_EQ(item.state, made.found[i].coming ? EntryState::kComing : EntryState::kAbsent);
        EXPECT_EQ(item.bytes, made.found[i].coming.value_or(0));
        continue;
      }
      EXPECT_EQ(item.bytes, made.found[i].body->size());
      const bool fits = made.found[i].body->size() <= made.wanted[i].most_bytes;
      EXPECT_EQ(item.state, fits ? EntryState::kHere : EntryState::kTooLarge);
      if (fits) {
        EXPECT_TRUE(same_bytes(item.body, *made.found[i].body));
      }
      EXPECT_EQ(reinterpret_cast<uintptr_t>(item.body.data()) % 64, 0u) << "can be used in place";
    }
  }
}

TEST(EntryMessages, OneWrongBitDamagesOneBodyOrAll) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const EntryExchange made = exchange_of(seed);
    const Buffer right = made.response();
    const auto expected = parse_entry_response(made.wanted, right);
    ASSERT_TRUE(expected.ok());
    for (size_t bit = seed % 7; bit < right.size() * 8; bit += 61) {
      Buffer wrong = copy_of(right, right.size());
      wrong.data()[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      const auto parsed = parse_entry_response(made.wanted, wrong);
      if (!parsed.ok()) {
        EXPECT_EQ(parsed.status().code(), Code::kCorrupt);
        continue;
      }
      size_t damaged = 0;
      for (size_t i = 0; i < parsed->size(); ++i) {
        if ((*parsed)[i].state == EntryState::kDamaged) {
          ++damaged;
          continue;
        }
        EXPECT_EQ((*parsed)[i].state, (*expected)[i].state);
        ASSERT_TRUE(same_bytes((*parsed)[i].body, (*expected)[i].body));
      }
      EXPECT_LE(damaged, 1u) << "a bit between bodies damages none";
    }
  }
}

TEST(EntryMessages, EveryOtherLengthIsCorrupt) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const EntryExchange made = exchange_of(seed);
    const Buffer request = encode_entry_request(made.wanted), response = made.response();
    for (size_t size = 0; size <= request.size() + 64; ++size) {
      if (size == request.size()) continue;
      EXPECT_EQ(parse_entry_request(copy_of(request, size).span()).status().code(), Code::kCorrupt) << size;
    }
    for (size_t size = 0; size <= response.size() + 64; ++size) {
      if (size == response.size()) continue;
      EXPECT_EQ(parse_entry_response(made.wanted, copy_of(response, size)).status().code(), Code::kCorrupt) << size;
    }
  }
}

// A host that has the token can compute checksums.
TEST(EntryMessages, FieldsThatLieAreCorrupt) {
  const std::vector<EntryRequest> wanted = {{{1, 2}, 64}};
  const auto response_with = [&](uint32_t count, uint8_t state, uint64_t length) {
    ByteWriter fields;
    fields.put(count);
    fields.put(state);
    fields.put(length);
    fields.put(uint64_t{0});
    return parse_entry_response(wanted, with_fields(joined(encode_entry_response(wanted, {{}})), fields.bytes()));
  };
  // Bodies are aligned after the fields, so a message without that alignment ends inside them.
  for (const uint64_t length : {uint64_t{64}, uint64_t{65}, UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63})
    EXPECT_EQ(response_with(1, 1, length).status().code(), Code::kCorrupt) << length;
  EXPECT_EQ(response_with(2, 0, 0).status().code(), Code::kCorrupt);
  EXPECT_EQ(response_with(UINT32_MAX, 0, 0).status().code(), Code::kCorrupt);
  EXPECT_EQ(response_with(1, 4, 0).status().code(), Code::kCorrupt) << "no host says that an item is damaged";

  const Buffer request = encode_entry_request(wanted);
  const auto request_with = [&](int64_t element, uint8_t has_element, uint8_t kind, size_t times = 1) {
    ByteWriter fields;
    for (size_t i = 0; i < times; ++i) {
      for (const uint64_t number : {1, 2, 64}) fields.put(number);
      fields.put(has_element);
      fields.put(element);
      fields.put(kind);
    }
    return parse_entry_request(with_fields(request, fields.bytes()).span());
  };
  ASSERT_TRUE(request_with(5, 1, 1).ok());
  EXPECT_EQ(request_with(-1, 1, 0).status().code(), Code::kCorrupt);
  EXPECT_EQ(request_with(5, 0, 0).status().code(), Code::kCorrupt);
  EXPECT_EQ(request_with(0, 2, 0).status().code(), Code::kCorrupt);
  EXPECT_EQ(request_with(0, 1, 2).status().code(), Code::kCorrupt);
  EXPECT_EQ(request_with(0, 1, 0, kMostEntries)->size(), kMostEntries);
  EXPECT_EQ(request_with(0, 1, 0, kMostEntries + 1).status().code(), Code::kCorrupt);
}

TEST(EntryMessages, TheLongestRequestFitsAndSumsDoNotOverflow) {
  const std::vector<EntryRequest> wanted(kMostEntries, EntryRequest{{1, 1}, UINT64_MAX});
  EXPECT_LE(encode_entry_request(wanted).size(), kMaxRequestBytes);
  EXPECT_GE(max_entry_response_bytes(wanted), uint64_t{kMostEntries} << 40);
}

TEST(EntryServiceTest, AnswersForEntriesVersionsAndWhatIsComing) {
  class Source final : public conformance::MemoryEntries {
   public:
    std::optional<uint64_t> version(const Hash128& name, int64_t sample) override {
      return name == Hash128{7, 7} && sample == 3 ? std::optional<uint64_t>(77) : std::nullopt;
    }
  };
  const auto source = std::make_shared<Source>();
  source->put({1, 1}, "bytes");
  source->announce(9, 4);
  EntryService service(source);
  using Kind = EntryRequest::Kind;
  const std::vector<EntryRequest> wanted = {{{1, 1}, 100},
                                            {{1, 1}, 4},
                                            {{2, 2}, 100},
                                            {{2, 2}, 100, 9},
                                            {{7, 7}, 8, 3, Kind::kVersion},
                                            {{7, 7}, 8, 4, Kind::kVersion},
                                            {{7, 7}, 8, {}, Kind::kVersion},
                                            {{1, 1}, 100, 1, Kind::kVersion}};
  const Result<Response> response = service.answer(encode_entry_request(wanted).span());
  ASSERT_TRUE(response.ok()) << response.status().to_string();
  const auto items = parse_entry_response(wanted, joined(*response));
  ASSERT_TRUE(items.ok()) << items.status().to_string();
  std::vector<EntryState> states;
  for (const ResponseItem& item : *items) states.push_back(item.state);
  EXPECT_EQ(states, (std::vector<EntryState>{EntryState::kHere, EntryState::kTooLarge, EntryState::kAbsent,
                                             EntryState::kComing, EntryState::kHere, EntryState::kAbsent,
                                             EntryState::kAbsent, EntryState::kAbsent}));
  EXPECT_EQ(conformance::text_of((*items)[0].body), "bytes");
  EXPECT_EQ((*items)[1].bytes, 5u);
  EXPECT_EQ((*items)[3].bytes, 4u);
  uint64_t version = 0;
  ASSERT_EQ((*items)[4].body.size(), sizeof version);
  std::memcpy(&version, (*items)[4].body.data(), sizeof version);
  EXPECT_EQ(version, 77u);
}

}  // namespace forebay
