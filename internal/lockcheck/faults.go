package lockcheck

import (
	"context"
	"time"
)

// KillHolder kills a process inside its block, as kill -9 does.
func KillHolder() Fault {
	return Fault{"kill a holder", func(ctx context.Context, c *Crowd) error {
		w, err := c.Holder(ctx)
		if err != nil {
			return err
		}
		w.Kill()
		return c.Replace(w)
	}}
}

// KillAny kills a process wherever it is.
func KillAny() Fault {
	return Fault{"kill anybody", func(ctx context.Context, c *Crowd) error {
		w := c.Any()
		w.Kill()
		return c.Replace(w)
	}}
}

// FreezeHolder stops a process inside its block until its lease is over.
func FreezeHolder(lease time.Duration) Fault {
	return Fault{"freeze a holder", func(ctx context.Context, c *Crowd) error {
		w, err := c.Holder(ctx)
		if err != nil {
			return err
		}
		defer w.Go()
		w.Freeze()
		defer w.Thaw()
		return c.Wait(ctx, lease*5/4+c.UpTo(lease/4))
	}}
}

// FreezeAny stops a process wherever it is, for less than a lease or more.
func FreezeAny(lease time.Duration) Fault {
	return Fault{"freeze anybody", func(ctx context.Context, c *Crowd) error {
		w := c.Any()
		w.Freeze()
		defer w.Thaw()
		return c.Wait(ctx, c.UpTo(lease*3/2))
	}}
}

// KillDriver kills the driver of a process that is inside.
func KillDriver(lease time.Duration) Fault {
	return Fault{"kill a driver", func(ctx context.Context, c *Crowd) error {
		w, err := c.Holder(ctx)
		if err != nil {
			return err
		}
		defer w.Go()
		w.KillDriver()
		return c.Wait(ctx, c.UpTo(lease))
	}}
}

// KillAnyDriver kills a driver whatever its process does.
func KillAnyDriver() Fault {
	return Fault{"kill any driver", func(ctx context.Context, c *Crowd) error {
		c.Any().KillDriver()
		return nil
	}}
}

// FreezeDriver stops the driver of a process that is inside until the lease is
// over.
func FreezeDriver(lease time.Duration) Fault {
	return Fault{"freeze a driver", func(ctx context.Context, c *Crowd) error {
		w, err := c.Holder(ctx)
		if err != nil {
			return err
		}
		defer w.Go()
		w.FreezeDriver()
		defer w.ThawDriver()
		return c.Wait(ctx, lease*5/4+c.UpTo(lease/4))
	}}
}

// With is a fault that lasts for a while during which somebody is inside: begin
// brings it about and end takes it away.
func With(name string, begin, end func(), least, most time.Duration) Fault {
	return Fault{name, func(ctx context.Context, c *Crowd) error {
		w, err := c.Holder(ctx)
		if err != nil {
			return err
		}
		defer w.Go()
		begin()
		defer end()
		return c.Wait(ctx, least+c.UpTo(most-least))
	}}
}

// Forget is a fault at which the backend loses its records while somebody is
// inside.
func Forget(name string, f func(), stay time.Duration) Fault {
	return Fault{name, func(ctx context.Context, c *Crowd) error {
		w, err := c.Holder(ctx)
		if err != nil {
			return err
		}
		defer w.Go()
		if err := c.Lose(func() error { f(); return nil }); err != nil {
			return err
		}
		return c.Wait(ctx, stay)
	}}
}
