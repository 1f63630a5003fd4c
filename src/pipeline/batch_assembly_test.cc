#include "pipeline/batch_assembly.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace forebay {
namespace {

// A field of lists of `bytes` bytes each. Row i is filled with i.
class Lists {
 public:
  Lists(std::string name, size_t rows, size_t bytes) : name_(std::move(name)) {
    field_.name = name_;
    field_.dtype = DType::kUint8;
    field_.shape = Shape{Shape::kUnknown};
    for (size_t row = 0; row < rows; ++row) lists_.emplace_back(bytes, static_cast<uint8_t>(row));
  }

  BatchAssembly::FieldJob job() const {
    BatchAssembly::FieldJob job;
    job.name = name_;
    for (const auto& list : lists_) job.own_rows.emplace_back(list);
    job.rows = job.own_rows;
    job.layout = plan_collation(field_, job.rows).value();
    return job;
  }
  bool are_in(const BatchField& field) const {
    const uint8_t* at = field.values.buffer.data();
    for (const auto& list : lists_) {
      if (!std::equal(list.begin(), list.end(), at)) return false;
      at += list.size();
    }
    return field.offsets.data<int64_t>()[lists_.size()] == at - field.values.buffer.data();
  }

 private:
  std::string name_;
  Field field_;
  std::vector<std::vector<uint8_t>> lists_;
};

void lay_out_all(BatchAssembly& assembly) {
  for (BatchAssembly::FieldJob& job : assembly.fields()) {
    const size_t rows = job.rows.size();
    job.result = lay_out(job.layout, rows,
                         {Buffer::allocate(job.layout.value_bytes), Buffer::allocate(job.layout.offset_bytes(rows))});
  }
  assembly.make_pieces();
}

TEST(BatchAssembly, a_large_batch_is_put_together_by_several_threads_at_once) {
  const Lists large("large", 2000, 1000), small("small", 2000, 3);
  BatchAssembly assembly;
  assembly.add(large.job());
  assembly.add(small.job());
  lay_out_all(assembly);
  ASSERT_GE(assembly.piece_count(), 4u);
  std::latch both(2);  // neither thread continues before the other has begun
  std::atomic<int> lasts = 0;
  const auto copy = [&](size_t from) {
    bool last = assembly.copy(from);
    both.arrive_and_wait();
    for (size_t piece = from + 2; piece < assembly.piece_count(); piece += 2) last |= assembly.copy(piece);
    lasts += last ? 1 : 0;
  };
  std::thread other(copy, 1);
  copy(0);
  other.join();
  EXPECT_EQ(lasts, 1);
  EXPECT_TRUE(large.are_in(assembly.fields()[0].result));
  EXPECT_TRUE(small.are_in(assembly.fields()[1].result));
}

TEST(BatchAssembly, little_is_copied_in_one_go) {
  const Lists one("one", 100, 10), other("other", 100, 20);
  BatchAssembly assembly;
  assembly.add(one.job());
  assembly.add(other.job());
  EXPECT_EQ(assembly.nbytes(), 100 * 30 + 2 * 101 * 8u);
  lay_out_all(assembly);
  ASSERT_EQ(assembly.piece_count(), 1u);
  EXPECT_TRUE(assembly.copy(0));
  EXPECT_TRUE(one.are_in(assembly.fields()[0].result) && other.are_in(assembly.fields()[1].result));
}

TEST(BatchAssembly, of_fields_that_do_not_go_together_the_first_is_told) {
  BatchAssembly assembly;
  assembly.add(Status(Code::kInvalidArgument, "first"));
  assembly.fail(Status(Code::kInvalidArgument, "second"));
  EXPECT_EQ(assembly.status().message(), "first");
  EXPECT_EQ(assembly.nbytes(), 0u);
}

}  // namespace
}  // namespace forebay
