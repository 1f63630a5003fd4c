#include "cluster/message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace forebay {

namespace {

using State = AnsweredKey::State;

/// A question and its answer, drawn from a seed.
struct Exchange {
  std::vector<WantedKey> wanted;
  std::vector<FoundKey> found;
};

Exchange exchange_of(uint64_t seed) {
  std::mt19937_64 random(seed);
  Exchange made;
  const size_t keys = random() % 12;
  for (size_t i = 0; i < keys; ++i) {
    const uint64_t size = random() % 300;
    made.wanted.push_back(
        {{random(), random()}, random() % 4 == 0 ? size / 2 : size + random() % 3, static_cast<int64_t>(random())});
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

}  // namespace

TEST(Message, QuestionsComeBackAsTheyWere) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Exchange made = exchange_of(seed);
    const auto parsed = parse_question(encode_question(made.wanted).span());
    ASSERT_TRUE(parsed.ok());
    ASSERT_EQ(parsed->size(), made.wanted.size());
    for (size_t i = 0; i < parsed->size(); ++i) {
      EXPECT_EQ((*parsed)[i].key, made.wanted[i].key);
      EXPECT_EQ((*parsed)[i].most_bytes, made.wanted[i].most_bytes);
      EXPECT_EQ((*parsed)[i].element, made.wanted[i].element);
    }
  }
}

TEST(Message, AnswersComeBackAsTheyWere) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Exchange made = exchange_of(seed);
    const AnswerParts parts = encode_answer(made.wanted, made.found);
    EXPECT_LE(parts.bytes, most_answer_bytes(made.wanted));
    const auto parsed = parse_answer(made.wanted, joined(parts));
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    for (size_t i = 0; i < parsed->size(); ++i) {
      const AnsweredKey& answer = (*parsed)[i];
      if (!made.found[i].body) {
        EXPECT_EQ(answer.state, made.found[i].coming ? State::kComing : State::kAbsent);
        EXPECT_EQ(answer.bytes, made.found[i].coming.value_or(0));
        continue;
      }
      EXPECT_EQ(answer.bytes, made.found[i].body->size());
      EXPECT_EQ(answer.state,
                made.found[i].body->size() <= made.wanted[i].most_bytes ? State::kHere : State::kTooLarge);
      if (answer.state == State::kHere) {
        EXPECT_TRUE(same_bytes(answer.body, *made.found[i].body));
      }
    }
  }
}

TEST(Message, OneWrongBitIsNeverTakenForABody) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Exchange made = exchange_of(seed);
    const Buffer right = joined(encode_answer(made.wanted, made.found));
    for (size_t bit = seed % 7; bit < right.size() * 8; bit += 61) {
      Buffer wrong = copy_of(right, right.size());
      wrong.data()[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      const auto parsed = parse_answer(made.wanted, wrong);
      if (!parsed.ok()) {
        EXPECT_EQ(parsed.status().code(), Code::kCorrupt);
        continue;
      }
      for (size_t i = 0; i < parsed->size(); ++i) {
        if ((*parsed)[i].state != State::kHere) continue;
        ASSERT_TRUE(made.found[i].body) << "a body came from nowhere";
        ASSERT_TRUE(same_bytes((*parsed)[i].body, *made.found[i].body));
      }
    }
  }
}

TEST(Message, EveryOtherLengthIsCorrupt) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Exchange made = exchange_of(seed);
    const Buffer question = encode_question(made.wanted), answer = joined(encode_answer(made.wanted, made.found));
    for (size_t size = 0; size <= question.size() + 64; ++size) {
      if (size == question.size()) continue;
      EXPECT_EQ(parse_question(copy_of(question, size).span()).status().code(), Code::kCorrupt) << size;
    }
    for (size_t size = 0; size <= answer.size() + 64; ++size) {
      if (size == answer.size()) continue;
      EXPECT_EQ(parse_answer(made.wanted, copy_of(answer, size)).status().code(), Code::kCorrupt) << size;
    }
  }
}

TEST(Message, LengthsThatNobodyWantedAreCorrupt) {
  const std::vector<WantedKey> wanted = {{{1, 2}, 64}};
  FoundKey body{Buffer::allocate(64)};
  std::memset(body.body->data(), 7, 64);
  const Buffer right = joined(encode_answer(wanted, {&body, 1}));
  ASSERT_TRUE(parse_answer(wanted, right).ok());
  for (const uint64_t length : {uint64_t{65}, UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63}) {
    Buffer wrong = copy_of(right, right.size());
    std::memcpy(wrong.data() + 16 + 8, &length, sizeof length);
    EXPECT_EQ(parse_answer(wanted, wrong).status().code(), Code::kCorrupt) << length;
  }
}

TEST(Message, MoreKeysThanAreAllowedAreCorrupt) {
  Buffer question = Buffer::allocate(16 + 32 * size_t{kMostKeys + 1});
  std::memset(question.data(), 0, question.size());
  const Buffer empty = encode_question({});
  std::memcpy(question.data(), empty.data(), 8);
  const uint64_t keys = kMostKeys + 1;
  std::memcpy(question.data() + 8, &keys, sizeof keys);
  EXPECT_EQ(parse_question(question.span()).status().code(), Code::kCorrupt);
}

TEST(Message, SumsOfWhatIsWantedStaySums) {
  const std::vector<WantedKey> wanted(kMostKeys, WantedKey{{1, 1}, UINT64_MAX});
  EXPECT_GE(most_answer_bytes(wanted), uint64_t{kMostKeys} << 40);
}

}  // namespace forebay
