#include "run/wishes.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

bool out_of_place_only(const Subject& subject) {
    return !subject.in_place;
}

const Wishes two_sizes{{Collective::all_gather, Collective::reduce}, {DataType::i32}, {8, 4096}};

// What copies has none, and is measured once.
TEST(Wishes, OnlyReductionsHaveOperations) {
    Wishes wishes = two_sizes;
    wishes.sizes = {8};
    wishes.ops = {Op::sum, Op::max};
    EXPECT_EQ(operations_of(wishes, out_of_place_only),
              (std::vector<Subject>{{Collective::all_gather, DataType::i32, false, 8},
                                    {Collective::reduce, DataType::i32, false, 8},
                                    {Collective::reduce, DataType::i32, false, 8, Op::max}}));
}

TEST(Wishes, WhatNothingCanBeMeasuredWithIsRefused) {
    Wishes wishes = two_sizes;
    EXPECT_EQ(refusal_of(wishes, out_of_place_only), std::nullopt);
    wishes.types = {DataType::i32, DataType::f16};
    const Offers no_halves = [](const Subject& subject) { return subject.type != DataType::f16; };
    ASSERT_TRUE(refusal_of(wishes, no_halves));
    EXPECT_EQ(refusal_of(wishes, no_halves)->message(),
              "distgpu: --type half: the back end has it for none of the collectives asked for; "
              "leave it out");
    wishes.types = {DataType::i32, DataType::f8e5m2};
    const Offers integers = [](const Subject& subject) { return subject.type == DataType::i32; };
    EXPECT_EQ(refusal_of(wishes, integers)->remedy, "leave it out; it needs NCCL 2.24 or newer");
    wishes.types = {DataType::i32};
    wishes.ops = {Op::sum, Op::max};
    EXPECT_EQ(refusal_of(wishes, out_of_place_only), std::nullopt);
    wishes.collectives = {Collective::all_gather};
    ASSERT_TRUE(refusal_of(wishes, out_of_place_only));
    EXPECT_EQ(refusal_of(wishes, out_of_place_only)->object, "--op max");
}

}  // namespace
}  // namespace distgpu::scaling
