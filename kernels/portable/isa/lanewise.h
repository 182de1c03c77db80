/* kernels/portable/isa/lanewise.h: functions of `wide` that follow from the operations of any
 * class, lane by lane, whatever the number of lanes is. vector.h and vector_one.h include it. */
#ifndef KERNELS_PORTABLE_ISA_LANEWISE_H
#define KERNELS_PORTABLE_ISA_LANEWISE_H

ISA_INLINE wide wide_zero(void)
{
    return wide_set(0.0F);
}

/* The lesser and the greater of a and b; b if they are equal or one is a NaN. */
ISA_INLINE wide wide_lesser(wide a, wide b)
{
    return wide_select(lanes_less(a, b), a, b);
}

ISA_INLINE wide wide_greater(wide a, wide b)
{
    return wide_select(lanes_less(b, a), a, b);
}

ISA_INLINE wide wide_magnitude(wide x)
{
    return wide_of_bits(ints_and(ints_of_bits(x), ints_set(0x7fffffff)));
}

ISA_INLINE wide wide_negative(wide x)
{
    return wide_of_bits(ints_xor(ints_of_bits(x), ints_set(0x80000000)));
}

/* The magnitude of `x` with the sign of `sign`. `x` is not negative. */
ISA_INLINE wide wide_with_sign(wide x, wide sign)
{
    ints bit = ints_and(ints_of_bits(sign), ints_set(0x80000000));
    return wide_of_bits(ints_or(ints_of_bits(x), bit));
}

/* `x` where it is a NaN, else `y`. */
ISA_INLINE wide wide_keep_nan(wide x, wide y)
{
    return wide_select(lanes_equal(x, x), y, x);
}

/* max(x, 0); a NaN stays, and so does -0. */
ISA_INLINE wide wide_relu(wide x)
{
    return wide_select(lanes_less(x, wide_zero()), wide_zero(), x);
}

#endif
